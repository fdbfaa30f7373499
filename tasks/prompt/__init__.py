"""Sends the requests of cases and lands the responses."""
