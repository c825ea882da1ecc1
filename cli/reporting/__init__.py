"""A run in every form that people send on: text, JSON, JUnit, markdown, one HTML page. Reads no cluster."""
