"""marts → pages."""
