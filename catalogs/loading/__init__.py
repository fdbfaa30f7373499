"""Reads catalog files and template libraries, and reports every problem with file and line."""
