"""Concerns, communities, templates, requirements, models and respondents, as checked YAML.

Rooms import only from those before them: schema, loading, lint, scenario, importers. Resolving an interaction
applies the rules of lint that would make it unplayable.
"""
