"""Generates instances and cases from requirements and the catalog."""
