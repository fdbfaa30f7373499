"""Conversations as they were held: who said what, and how it was read or judged."""
