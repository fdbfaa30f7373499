"""Catalogs as checked YAML; modules import only in the order schema, loading, lint, scenario, importers."""
