"""What every type of a catalog has in common: it never changes, and knows no key that it does not declare."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Discriminator


class Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        coerce_numbers_to_str=True,  # communities such as ages are written as numbers
    )


NAMED = Discriminator(lambda given: "name" if isinstance(given, str) else "mapping")
"""Chooses between the name of a thing and the thing written out, tagged so: mistakes tell of one of them only."""
