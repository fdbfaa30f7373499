"""Readers of free-text replies: who is tied to what, agreement, scores."""
