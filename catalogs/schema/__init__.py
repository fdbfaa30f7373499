"""Types of everything that a catalog or a user's file may hold."""
