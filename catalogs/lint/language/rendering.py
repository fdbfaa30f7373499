"""Renders every community's form in a few words of context, for grammar checks without all instances."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

from biasgrid.catalogs.schema.entries import Community
from biasgrid.catalogs.wording import SLOT

NEAR = 3
"""Words on each side of a slot in its window."""
REACH = 160
"""Characters on each side that are searched for these words."""
BEFORE = re.compile(rf"(?:\S+\s+){{0,{NEAR}}}\S*$")
AFTER = re.compile(rf"\S*(?:\s+\S+){{0,{NEAR}}}")
Forms = Mapping[str, Mapping[str, str]]
"""Forms of each community of a set, in one language."""


@dataclass(frozen=True, slots=True)
class Window:
    """One slot or several close ones with the surrounding text; `slots` are matches of SLOT."""

    before: str
    after: str
    slots: tuple[re.Match[str], ...]
    between: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A filled window as one line of text; `start` is the offset of the first form."""

    text: str
    start: int
    opens: bool
    """Whether the first form begins a sentence."""


def windows(text: str) -> Iterator[Window]:
    """Windows of a text; slots close to each other share one."""
    group: list[re.Match[str]] = []
    for slot in SLOT.finditer(text):
        if group and not _close(text[group[-1].end() : slot.start()]):
            yield _window(text, group)
            group = []
        group.append(slot)
    if group:
        yield _window(text, group)


def _close(between: str) -> bool:
    return len(between.split()) < NEAR and not re.search(r"[.?!]\s", between)


def _window(text: str, group: Sequence[re.Match[str]]) -> Window:
    start, end = group[0].start(), group[-1].end()
    before = BEFORE.search(_without_slots(text[max(start - REACH, 0) : start]))
    after = AFTER.match(_without_slots(text[end : end + REACH]))
    between = tuple(text[one.end() : other.start()] for one, other in pairwise(group))
    return Window(before[0] if before else "", after[0] if after else "", tuple(group), between)


def _without_slots(text: str) -> str:
    """The text with other slots, which have their own windows, replaced by a word unknown to all rules."""
    return SLOT.sub("\u2026", text)


def render_window(window: Window, sets: Mapping[str, Sequence[Community]], language: str) -> Iterator[Rendered]:
    """The window filled with every ordered choice of distinct communities, except choices with a missing form."""
    names = list(dict.fromkeys((slot["markup"], slot["number"]) for slot in window.slots))
    markups = list(dict.fromkeys(markup for markup, _ in names))
    if len(markups) > 1 or markups[0] not in sets:
        return
    for chosen in permutations(sets[markups[0]], len(names)):
        forms = {name: community.forms.get(language, {}) for name, community in zip(names, chosen, strict=True)}
        filled = [_form(forms[slot["markup"], slot["number"]], slot["form"]) for slot in window.slots]
        if all(filled):
            yield _render(window, filled)


def _form(forms: Mapping[str, str], name: str | None) -> str:
    text = forms.get(name.lower(), "") if name else ""
    return text[:1].upper() + text[1:] if name and name[0].isupper() else text


def _render(window: Window, filled: Sequence[str]) -> Rendered:
    text = window.before
    for form, after in zip(filled, (*window.between, window.after), strict=True):
        text += form + after
    return Rendered(text, len(window.before), _opens(window.before))


def _opens(before: str) -> bool:
    return not before.strip() or re.search(r"[.?!…]\s+[¿¡«\"]*$|^[¿¡«\"]+$", before) is not None
