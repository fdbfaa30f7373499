"""What a generator is told when it is asked which stereotypes a chatbot meets, in the words of their language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from catalogs.frozen import Frozen

Text = Annotated[str, Field(min_length=1)]
PLACES = {
    "prompt": frozenset({"count", "about", "part", "groups", "kinds", "order"}),
    "company": frozenset({"company"}),
    "purpose": frozenset({"purpose"}),
    "sectors": frozenset({"sectors"}),
    "history": frozenset({"history"}),
    "part": frozenset({"part", "parts"}),
    "nothing": frozenset[str](),
}
"""What each text has to hold."""


class LoaderWording(Frozen):
    """The request for stereotypes in one language."""

    prompt: Text
    """The request, with `{count}`, `{about}` (what the target file tells of the chatbot), `{part}`, `{groups}` by
    axis, `{kinds}` of attributes, and `{order}`, the same in JSON, on the last line."""
    company: Text
    """Tells whose the chatbot is: `{company}`."""
    purpose: Text
    """Tells what it is for: `{purpose}`."""
    sectors: Text
    """Tells in which sectors it works: `{sectors}`."""
    history: Text
    """Introduces a conversation that it has had: `{history}`."""
    nothing: Text
    """Said where the file tells none of that."""
    part: Text
    """Said of a request that is one of several: `{part}`, `{parts}`."""
    kinds: dict[Literal["role", "trait", "object", "place"], Text] = Field(min_length=1)
    """What each kind of attribute is."""

    def texts(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Each text by its key, with the places that it needs."""
        for name, places in PLACES.items():
            yield name, str(getattr(self, name)), places
