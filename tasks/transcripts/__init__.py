"""Conversations as played, with the reading or judgement of each reply."""
