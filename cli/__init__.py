"""The command line: one module a command, imported when it is called. Decides nothing about objects."""
