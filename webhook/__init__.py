"""The HTTP edge: both faces, their settings, health and TLS. Decides nothing about objects."""
