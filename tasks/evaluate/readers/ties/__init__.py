"""Who is tied to what in a reply: one grammar for tasks and for attributes."""
