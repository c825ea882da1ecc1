"""The hooks as pure functions: what should exist and what its state means.

Nothing in here knows a clock, an environment variable, a socket or Flask: time, identity and everything read from
the cluster arrive as arguments, and what must still be read leaves as a value.
"""
