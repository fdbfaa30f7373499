"""Language rules of the catalog check: grammar, typography, encoding, language detection."""
