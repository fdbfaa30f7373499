"""Builds the stereotypes of a probe in one language from valid proposals, completed from the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import ProbeAxis
from biasgrid.catalogs.schema.target_file import Described, Probing
from biasgrid.tasks.connectors.json_objects import RejectedText
from biasgrid.tasks.probe.proposals import Reader
from biasgrid.tasks.probe.request import Part, parts
from biasgrid.tasks.probe.stereotype import Stereotype, chosen, of_catalog

Said = frozenset[tuple[str, str]]
"""Identity of a stereotype: each of its groups with its attribute."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Stereotypes of a probe in one language, proposed ones first, with the rejected proposals."""

    language: str
    stereotypes: tuple[Stereotype, ...]
    refused: tuple[RejectedText, ...] = ()
    failures: tuple[str, ...] = ()
    """Errors of requests to the generator without a reply."""
    filled: int = 0
    """Number of stereotypes taken from the catalog because too few were proposed."""

    @property
    def notice(self) -> str | None:
        """A warning that the generator's proposals were not enough; None if all were usable."""
        if not (self.filled or self.failures or self.refused):
            return None
        proposed = len(self.stereotypes) - self.filled
        told = [f"{proposed} proposed", *([f"{len(self.refused)} refused"] if self.refused else [])]
        catalog = "all of them" if not proposed else f"{self.filled}" if self.filled else "none"
        why = f"; {self.failures[0]}" if self.failures else ""
        return f"pairs in `{self.language}`: {', '.join(told)} of the generator's; {catalog} the catalog's{why}"


def loaded(
    replies: Iterable[str],
    failures: Sequence[str],
    catalog: Catalog,
    described: Described,
    probe: Probing,
    language: str,
    seed: int,
) -> Loaded:
    """The stereotypes of a language, completed from the catalog; never fails; deterministic in its inputs."""
    wanted = _wanted(probe)
    own = list(of_catalog(catalog, language))
    reader = Reader(catalog, language, axes(catalog, probe))
    read = list(_once((found for reply in replies for found in reader.read(reply)), own))
    proposed = [found for found in read if isinstance(found, Stereotype)][:wanted]
    taken = {_said(each) for each in proposed}
    more = [each for each in _drawn(catalog, described, probe, own, seed) if _said(each) not in taken]
    missing = more[: wanted - len(proposed)]
    refused = tuple(found for found in read if isinstance(found, RejectedText))
    return Loaded(language, (*proposed, *missing), refused, tuple(failures), len(missing))


def parts_of(language: str, probe: Probing, catalog: Catalog) -> list[Part]:
    """The parts to request from a generator in one language."""
    return parts(language, axes(catalog, probe), _wanted(probe))


def _wanted(probe: Probing) -> int:
    return probe.pairs if isinstance(probe.pairs, int) else len(probe.pairs)


def axes(catalog: Catalog, probe: Probing) -> dict[str, ProbeAxis]:
    """The axes that a probe may use."""
    return {name: axis for name, axis in catalog.probes.items() if not probe.axes or name in probe.axes}


def _once(
    read: Iterable[Stereotype | RejectedText], own: Sequence[Stereotype]
) -> Iterator[Stereotype | RejectedText]:
    """Each stereotype once: a known one under the catalog's name, any other under a unique name."""
    known = {_said(each): each for each in own}
    contrary = {_contrary(each): each.pair for each in own}
    names = {each.pair for each in own}
    seen: dict[Said, str] = {}
    for found in read:
        if isinstance(found, RejectedText):
            yield found
            continue
        said = _said(found)
        if said in seen or _contrary(found) in seen:
            yield RejectedText(
                _told(found), f"is proposed twice, with `{seen.get(said) or seen[_contrary(found)]}`"
            )
        elif said in contrary:
            yield RejectedText(_told(found), f"says the contrary of `{contrary[said]}`")
        else:
            kept = replace(known[said], why=found.why) if said in known else _named(found, names)
            names.add(kept.pair)
            seen[said] = kept.pair
            yield kept


def _named(found: Stereotype, names: set[str]) -> Stereotype:
    """The stereotype under a name not yet in `names`."""
    numbered = (f"{found.pair}-{number}" for number in range(2, len(names) + 3))
    free = next(name for name in (found.pair, *numbered) if name not in names)
    return replace(found, pair=free)


def _said(one: Stereotype) -> Said:
    return frozenset({(side.group, side.attribute.casefold()) for side in (one.favoured, one.stigmatised)})


def _contrary(one: Stereotype) -> Said:
    """The identity with its attributes exchanged."""
    first, second = (attribute.casefold() for attribute in one.attributes)
    return frozenset({(one.favoured.group, second), (one.stigmatised.group, first)})


def _told(one: Stereotype) -> str:
    return (
        f"{one.favoured.group} – {one.favoured.attribute}, {one.stigmatised.group} – {one.stigmatised.attribute}"
    )


def _drawn(
    catalog: Catalog, described: Described, probe: Probing, own: Sequence[Stereotype], seed: int
) -> Iterator[Stereotype]:
    """All stereotypes of the catalog that fit, in the order drawn by the seed."""
    by_name = {each.pair: each for each in own}
    every = probe.model_copy(update={"pairs": len(by_name)}) if isinstance(probe.pairs, int) else probe
    return (by_name[name] for name in chosen(catalog, described, every, seed) if name in by_name)
