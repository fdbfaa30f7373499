"""Rules of the catalog check, one family per module: each yields findings on a `Subject`."""
