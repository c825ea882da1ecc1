"""Changes to what is rendered: the platform table's rows and the user's overrides, chosen once, applied once.

Detects nothing and renders no framework: it is told what was detected and gets what was rendered.
"""
