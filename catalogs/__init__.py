"""What is asked: concerns, communities, templates, requirements, models and respondents, as checked YAML."""
