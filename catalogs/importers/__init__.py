"""Imports external benchmarks and recorded replies into our formats, one module per format."""
