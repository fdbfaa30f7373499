"""Defines the base of all catalog types (immutable, unknown keys refused), and ids made from free names."""

from __future__ import annotations

import re
import unicodedata

from pydantic import BaseModel, ConfigDict, Discriminator


def slug(text: str) -> str:
    """Latin letters and digits, joined by hyphens: `ACME Beratung` is `acme-beratung`; empty if none is left."""
    bare = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")


class Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        coerce_numbers_to_str=True,  # communities such as ages are written as numbers
    )


NAMED = Discriminator(lambda given: "name" if isinstance(given, str) else "mapping")
"""Chooses between the name of a thing and the thing written out, tagged so: mistakes tell of one of them only."""
