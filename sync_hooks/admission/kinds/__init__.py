"""The rules of each kind, one module a kind, imported when an object of that kind is first seen."""
