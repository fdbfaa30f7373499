"""`biasgrid list`: what a scenario may name, each with its meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.models import Provider
from biasgrid.tasks.redteam.strategies import STRATEGIES
from biasgrid.tasks.report.model import Row, Section, Table, headings

Cells = Iterator[tuple[str, ...]]
SHOWN: Final = 6
"""Communities of a set, and requirements of a file, that are named."""


def list_entries(kind: str) -> Section:
    """The entries of one of LISTS as a table, and how a scenario names them."""
    names, rows, note = LISTS[kind]
    table = Table(headings(*names), [Row(cells) for cells in rows(load_catalog())], "wrapped")
    return Section(table=table, notes=[note])


def _models(catalog: Catalog) -> Cells:
    for name, provider in sorted(catalog.models.providers.items()):
        if provider.models == "any":
            yield f"{name}/…", "", "", _key(provider)
    for model, entry in sorted(catalog.models.models.items()):
        prices = entry.prices
        money = (f"{prices.input:g}", f"{prices.output:g}") if prices else ("–", "–")
        yield model, *money, _key(catalog.models.providers[model.partition("/")[0]])


def _key(provider: Provider) -> str:
    """Whether there is a key; never the key."""
    if not provider.key_env:
        return "none needed"
    return "set" if any(os.environ.get(name) for name in provider.key_env) else f"set {provider.key_env[-1]}"


def _concerns(catalog: Catalog) -> Cells:
    for concern in catalog.concerns.values():
        of = [template.language for template in catalog.templates if template.concern == concern.id]
        yield concern.id, f"{len(of):,}", concern.description


def _communities(catalog: Catalog) -> Cells:
    for name, one in sorted(catalog.communities.items()):
        yield name, one.markup, f"{len(one.communities):,}", _several([each.id for each in one.communities])


def _requirements(catalog: Catalog) -> Cells:
    for name, file in sorted(catalog.requirements.items()):
        own = [one.name for one in catalog.requirements_in(name)]
        yield name, f"{len(own):,}", file.description or _several(own)


def _respondents(catalog: Catalog) -> Cells:
    for name, one in sorted(catalog.respondents.items()):
        yield f"simulated/{name}", one.description


def _attacks(catalog: Catalog) -> Cells:
    for name, strategy in STRATEGIES.items():
        yield name, (strategy.__doc__ or "").partition("\n\n")[0].replace("\n    ", " ")


def _several(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


List = tuple[tuple[str, ...], Callable[[Catalog], Cells], str]
LISTS: Final[Mapping[str, List]] = {
    "models": (
        ("model", "US$ in", "US$ out", "key"),
        _models,
        "US$ of a million tokens. A scenario names them in `models:`, `biasgrid run` by `--model`.",
    ),
    "concerns": (("concern", "templates", "what a biased model does"), _concerns, "`concern:` of a requirement."),
    "communities": (("set", "markup", "of", "communities"), _communities, "`communities:` of a requirement."),
    "requirements": (
        ("file", "of", "about"),
        _requirements,
        "A scenario names a file in `requirements:`; `starter` and `full` are scenarios as well.",
    ),
    "respondents": (("model", "behaviour"), _respondents, "Models of known bias that need no key."),
    "attacks": (("strategy", "what it does"), _attacks, "`biasgrid redteam … --strategy`, or `strategies:`."),
}
"""Headings, rows and note, by what is listed."""
