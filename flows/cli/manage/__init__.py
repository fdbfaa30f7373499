"""Commands that manage catalogs, warehouse and servers."""
