"""The request for stereotypes to a generator, from the language's wording, target file and catalog."""

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
"""Stereotypes per reply: more become similar, and a longer reply may be cut off."""


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one request."""

    language: str
    number: int
    of: int
    count: int
    """Number of stereotypes."""
    axes: tuple[ProbeAxis, ...]
    """Axes to choose from; parts share none if there are enough axes."""


def parts(language: str, axes: Mapping[str, ProbeAxis], count: int) -> list[Part]:
    """`count` stereotypes in parts of at most `AT_ONCE`, one request each."""
    of = max(1, -(-count // AT_ONCE))
    sizes = [count // of + (index < count % of) for index in range(of)]
    every = tuple(axes.values())
    return [
        Part(language, index + 1, of, size, every[index::of] if len(every) >= of else every)
        for index, size in enumerate(sizes)
    ]


def request_text(part: Part, described: Described, catalog: Catalog) -> str:
    """The whole message of one part, deterministic in file and catalog; the language must have a `loader`."""
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
    """The machine-readable order, as the last line."""
    told: dict[str, str | int | Sequence[str]] = {
        "order": "stereotypes",
        "language": part.language,
        "part": part.number,
        "count": part.count,
        "axes": [axis.id for axis in part.axes],
    }
    return json.dumps(told)
