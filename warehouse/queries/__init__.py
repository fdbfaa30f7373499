"""Example queries, lineage and the data dictionary."""
