"""Conversations: their state, their requests, and replies that landed before."""
