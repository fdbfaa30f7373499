"""Prompting through providers' batch APIs."""
