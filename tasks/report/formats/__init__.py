"""Reports for other programs: JUnit, Markdown, model cards, CSV, JSON, LangBiTe's files."""
