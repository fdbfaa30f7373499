"""Checks texts that a model wrote for forbidden content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from biasgrid.catalogs.schema.wording import SLOT
from biasgrid.catalogs.text_safety import excerpt, first_invisible

SHORTEST, LONGEST = 15, 600
"""Minimum and maximum characters of a prompt."""
BRACES = re.compile(r"\{[^{}]*\}|[{}]")


def troubles(
    text: str, forms: Mapping[str, Mapping[str, tuple[str, ...]]], shortest: int = SHORTEST
) -> Iterator[str]:
    """All reasons why a text cannot be used; `forms` are the known ones by markup."""
    unseen = first_invisible(text)
    if unseen is not None:
        yield f"holds the control or invisible character `{unseen}`"
    if not shortest <= len(text) <= LONGEST:
        yield f"has {len(text)} characters, not {shortest} to {LONGEST}"
    if text != text.strip():
        yield "begins or ends with a blank"
    yield from _slots(text, forms)


def _slots(text: str, forms: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Iterator[str]:
    named = {match[0] for match in BRACES.finditer(text)}
    for written in sorted(named):
        slot = SLOT.fullmatch(written)
        told = f"`{excerpt(written, 60)}`"
        if slot is None:
            yield f"holds {told}, which is no placeholder"
        elif slot["markup"] not in forms:
            yield f"holds {told}, an unknown markup"
        elif slot["form"] is None:
            yield f"holds {told} without a form"
        elif slot["form"].lower() not in forms[slot["markup"]] or not _is_form(slot["form"]):
            yield f"holds {told}: the communities have no such form"
    numbers = {match["number"] for match in SLOT.finditer(text)}
    if numbers not in (set(), {""}, {"1", "2"}):
        yield "numbers its placeholders otherwise than none, or 1 and 2"
    for markup in forms:
        if re.search(rf"(?<![\w{{]){re.escape(markup)}\d*\b", BRACES.sub(" ", text)):
            yield f"holds `{markup}` without braces"


def _is_form(name: str) -> bool:
    """Lower case, or with a capital first letter; anything else would be sent as if it were lower case."""
    return name[1:] == name[1:].lower()
