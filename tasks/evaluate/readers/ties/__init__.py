"""One grammar for ties of people to tasks and to attributes."""
