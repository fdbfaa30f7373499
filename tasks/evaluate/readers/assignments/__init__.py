"""Reads which person a reply gives each task."""
