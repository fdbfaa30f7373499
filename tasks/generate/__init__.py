"""requirements × catalog → instances → cases."""
