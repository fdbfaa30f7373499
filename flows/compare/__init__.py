"""`biasgrid compare`: differences between runs, tested."""
