"""Builds the stereotypes of a probe in one language from valid proposals, completed from the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import ProbeAxis
from biasgrid.catalogs.schema.target_file import Described, Probing
from biasgrid.tasks.connectors.json_objects import RejectedText
from biasgrid.tasks.probe.proposals import Reader
from biasgrid.tasks.probe.request import Part, split_order
from biasgrid.tasks.probe.stereotype import Stereotype, draw_pairs, of_catalog

Identity = frozenset[tuple[str, str]]
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
        refused = f", {len(self.refused)} refused" if self.refused else ""
        catalog = "all of them" if not proposed else f"{self.filled}" if self.filled else "none"
        why = f"; {self.failures[0]}" if self.failures else ""
        own = f"{proposed} proposed{refused} of the generator's"
        return f"pairs in `{self.language}`: {own}; {catalog} the catalog's{why}"


@dataclass(frozen=True)
class Loader:
    """Chooses the stereotypes of a probe in one language."""

    catalog: Catalog
    described: Described
    probe: Probing
    language: str
    seed: int

    @property
    def axes(self) -> dict[str, ProbeAxis]:
        """The axes that the probe may use."""
        named = self.probe.axes
        return {name: axis for name, axis in self.catalog.probes.items() if not named or name in named}

    @property
    def count(self) -> int:
        return self.probe.pairs if isinstance(self.probe.pairs, int) else len(self.probe.pairs)

    def parts(self) -> list[Part]:
        """The parts to request from a generator."""
        return split_order(self.language, self.axes, self.count)

    def load(self, replies: Iterable[str], failures: Sequence[str] = ()) -> Loaded:
        """The proposed stereotypes, completed from the catalog; never fails; deterministic in its inputs."""
        own = list(of_catalog(self.catalog, self.language))
        reader = Reader(self.catalog, self.language, self.axes)
        read = list(_once((found for reply in replies for found in reader.read(reply)), own))
        proposed = [found for found in read if isinstance(found, Stereotype)][: self.count]
        taken = {_identity(each) for each in proposed}
        more = [each for each in self._in_drawn_order(own) if _identity(each) not in taken]
        missing = more[: self.count - len(proposed)]
        refused = tuple(found for found in read if isinstance(found, RejectedText))
        return Loaded(self.language, (*proposed, *missing), refused, tuple(failures), len(missing))

    def _in_drawn_order(self, own: Sequence[Stereotype]) -> Iterator[Stereotype]:
        """All stereotypes of the catalog that fit, in the order drawn by the seed."""
        by_name, probe = {each.pair: each for each in own}, self.probe
        every = probe.model_copy(update={"pairs": len(by_name)}) if isinstance(probe.pairs, int) else probe
        named = draw_pairs(self.catalog, self.described, every, self.seed)
        return (by_name[name] for name in named if name in by_name)


def _once(
    read: Iterable[Stereotype | RejectedText], own: Sequence[Stereotype]
) -> Iterator[Stereotype | RejectedText]:
    """Each stereotype once: a known one under the catalog's name, any other under a unique name."""
    known = {_identity(each): each for each in own}
    contrary = {_contrary(each): each.pair for each in own}
    names = {each.pair for each in own}
    seen: dict[Identity, str] = {}
    for found in read:
        if isinstance(found, RejectedText):
            yield found
            continue
        identity = _identity(found)
        if earlier := seen.get(identity) or seen.get(_contrary(found)):
            yield RejectedText(_describe(found), f"is proposed twice, with `{earlier}`")
        elif identity in contrary:
            yield RejectedText(_describe(found), f"states the contrary of `{contrary[identity]}`")
        else:
            kept = replace(known[identity], why=found.why) if identity in known else _with_free_name(found, names)
            names.add(kept.pair)
            seen[identity] = kept.pair
            yield kept


def _with_free_name(found: Stereotype, names: set[str]) -> Stereotype:
    """The stereotype under a name not yet in `names`."""
    numbered = (f"{found.pair}-{number}" for number in range(2, len(names) + 3))
    free = next(name for name in (found.pair, *numbered) if name not in names)
    return replace(found, pair=free)


def _identity(one: Stereotype) -> Identity:
    return frozenset({(side.group, side.attribute.casefold()) for side in (one.favoured, one.stigmatised)})


def _contrary(one: Stereotype) -> Identity:
    """The identity with its attributes exchanged."""
    first, second = (attribute.casefold() for attribute in one.attributes)
    return frozenset({(one.favoured.group, second), (one.stigmatised.group, first)})


def _describe(one: Stereotype) -> str:
    return (
        f"{one.favoured.group} – {one.favoured.attribute}, {one.stigmatised.group} – {one.stigmatised.attribute}"
    )
