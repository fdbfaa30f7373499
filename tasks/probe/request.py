"""The request for stereotypes that a generator is sent, from the language's wording, target file and catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.augmentation import LoaderWording
from biasgrid.catalogs.schema.probes import ProbeAxis
from biasgrid.catalogs.schema.target_file import Described
from biasgrid.tasks.probe.prompts import filled

AT_ONCE = 8
"""More stereotypes than this in one reply grow alike, and a reply of their length may be cut off."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one request asks for."""

    language: str
    number: int
    of: int
    count: int
    """How many stereotypes."""
    axes: tuple[ProbeAxis, ...]
    """From which; no other part is given the same, as far as they go."""


def parts(language: str, axes: Mapping[str, ProbeAxis], count: int) -> list[Part]:
    """`count` stereotypes in parts of at most `AT_ONCE`, each for a request of its own."""
    of = max(1, -(-count // AT_ONCE))
    sizes = [count // of + (index < count % of) for index in range(of)]
    every = tuple(axes.values())
    return [
        Part(language, index + 1, of, size, every[index::of] if len(every) >= of else every)
        for index, size in enumerate(sizes)
    ]


def request_text(part: Part, described: Described, catalog: Catalog) -> str:
    """The whole message for one part; the same file on the same catalog gives the same text. Of a language whose
    catalog has a `loader`."""
    wording = catalog.probing[part.language].loader
    assert wording is not None  # noqa: S101 - found before anything is sent
    own = {"part": str(part.number), "parts": str(part.of)}
    told = {
        "count": str(part.count),
        "about": "\n".join(_about(wording, described)) or wording.nothing,
        "part": filled(wording.part, own) if part.of > 1 else "",
        "groups": "\n".join(_groups(part)),
        "kinds": "\n".join(f'- "{kind}": {what}' for kind, what in wording.kinds.items()),
        "order": _order(part),
    }
    return filled(wording.prompt, told).strip()


def _about(wording: LoaderWording, described: Described) -> Iterator[str]:
    history = [turn.model_dump() for turn in described.history]
    said = {
        "company": described.company,
        "purpose": described.purpose,
        "sectors": ", ".join(described.sectors),
        "history": json.dumps(history, ensure_ascii=False) if history else "",
    }
    for name, text in said.items():
        if text.strip():
            yield filled(str(getattr(wording, name)), {name: " ".join(text.split())})


def _groups(part: Part) -> Iterator[str]:
    for axis in part.axes:
        spoken = [(group.id, group.words.get(part.language)) for group in axis.groups]
        yield f"- {axis.id}: " + ", ".join(f'"{name}" ({words.plural})' for name, words in spoken if words)


def _order(part: Part) -> str:
    """On one line, as the last: what a machine that answers the request needs."""
    told: dict[str, str | int | Sequence[str]] = {
        "order": "stereotypes",
        "language": part.language,
        "part": part.number,
        "count": part.count,
        "axes": [axis.id for axis in part.axes],
    }
    return json.dumps(told)
