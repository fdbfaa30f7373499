"""Rules of the catalog check, one family a module: each yields findings on a `Subject`."""
