"""Names of our own for what people and models name as they like."""

from __future__ import annotations

import re
import unicodedata


def slug(text: str) -> str:
    """Latin letters without accents and digits, between dashes: `ACME Beratung` is `acme-beratung`. Empty where
    nothing is left of it."""
    bare = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")
