"""The report as one HTML page: inline styles and SVG, no script, nothing loaded from anywhere."""

from cli.reporting.html.page import html

__all__ = ["html"]
