"""Requests, tokens, cost and time of a run, estimated before anything is sent."""
