"""Readers of free-text replies: assignments and pairings, agreement, ratings."""
