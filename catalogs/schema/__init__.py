"""Defines the types of all contents of catalogs and user files."""
