"""Resolves a target file for an attack and reports all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.scenario.targets import (
    Given,
    ResolvedTarget,
    Source,
    checked_file,
    common,
    read_target,
    unknown_model,
)
from biasgrid.catalogs.schema.attacks import StrategyName
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import Pair, RedTeam, TargetFile, drawn_pairs

NEED_NO_ATTACKER: frozenset[StrategyName] = frozenset({"one_shot", "implicit_separated"})
SECTION = "redteam"


@dataclass(frozen=True, kw_only=True)
class ResolvedAttack(ResolvedTarget):
    """A resolved target for an attack."""

    kind: ClassVar[str] = "redteam"
    attacker: Target | None = None

    @property
    def pairs(self) -> list[Pair]:
        """Stereotype pairs that the attack aims at, the same in each language."""
        own, target = self.file.redteam, self.file.target
        named = {"of_axes": own.axes, "sectors": target.sectors, "languages": target.languages}
        return drawn_pairs(self.catalog.probes, own.pairs, self.file.asking.seed, **named)

    @property
    def concerns(self) -> set[str]:
        return {axis.concern for axis, _ in self.pairs}

    @property
    def asked(self) -> list[Target]:
        """Every model queried, once each, since a model may have several roles."""
        named = [*super().asked, *([self.attacker] if self.attacker else [])]
        return list({target.model: target for target in named}.values())


ANEW = (
    "`asking.reuse: all` is for probes: what a red team says follows from the replies before it, and only those "
    "of its own run are kept"
)
Inspection = Callable[[ResolvedAttack], Iterable[Problem]]


def resolve_attack(
    source: Source, given: Given | None = None, inspect: Inspection = lambda _: ()
) -> ResolvedAttack:
    """The resolved target file; raises UserError with all errors of the file, its names, and `inspect`."""
    text, document = read_target(source, given or {})
    reading = read_catalog(scenes=False)
    catalog, mistakes = reading.catalog, list(reading.mistakes)
    file = checked_file(document, catalog, mistakes)
    mistakes += _unknown(document, file, catalog)
    mistakes += _parts(document, file, catalog)
    _raise(mistakes)
    own = file.redteam
    attacker = catalog.target(own.attacker) if own.attacker else None
    judge = catalog.target(own.judge or "")
    notices = (ANEW,) if file.asking.reuse == "all" else ()
    known = common(text, document, file, catalog)
    resolved = ResolvedAttack(**known, judge=judge, attacker=attacker, notices=notices)
    _raise([*_judges_itself(resolved, document), *inspect(resolved)])
    return resolved


def _unknown(document: Document, file: TargetFile, catalog: Catalog) -> Iterator[Problem]:
    """Errors of unknown pairs, axes and languages."""
    own, pairs = file.redteam, [pair.id for axis in catalog.probes.values() for pair in axis.pairs]
    named = own.pairs if isinstance(own.pairs, tuple) else ()
    listed: list[tuple[str, tuple[str, str], Iterable[str], Iterable[str]]] = [
        ("axis", (SECTION, "axes"), own.axes, catalog.probes),
        ("attribute pair", (SECTION, "pairs"), named, pairs),
        ("language", ("target", "languages"), file.target.languages, catalog.attacks),
    ]
    for what, where, names, known in listed:
        for index, name in enumerate(names):
            if name not in known:
                told = f"{what} `{name}` is unknown to the red team"
                yield Problem(told, document.place(*where, index), nearest(name, known))


def _parts(document: Document, file: TargetFile, catalog: Catalog) -> Iterator[Problem]:
    """Errors of a missing judge, or of a missing attacker if a strategy needs one."""
    own = file.redteam
    for part, model in (("attacker", own.attacker), ("judge", own.judge)):
        if model is not None:
            yield from unknown_model(model, document.place(SECTION, part), catalog)
    if own.judge is None:
        remedy = "name a model under `redteam.judge`, or give `--judge`; `simulated/red-judge` needs no key"
        yield Problem("no judge is named", document.place(SECTION, "judge"), remedy)
    needing = [strategy for strategy in own.strategies if strategy not in NEED_NO_ATTACKER]
    if own.attacker is None and needing:
        told = f"`{'`, `'.join(needing)}` need an attacker, and none is named"
        remedy = "name a model under `redteam.attacker`, or give `--attacker`; `simulated/attacker` needs no key"
        yield Problem(told, document.place(SECTION, "attacker"), remedy)


def _judges_itself(resolved: ResolvedAttack, document: Document) -> Iterator[Problem]:
    own: RedTeam = resolved.file.redteam
    if resolved.judge and resolved.judge.model in resolved.targets and not own.judge_may_be_target:
        told = f"`{resolved.judge.model}` would judge its own replies"
        remedy = "name another judge, or set `redteam.judge_may_be_target: true`"
        yield Problem(told, document.place(SECTION, "judge"), remedy)


def _raise(mistakes: Iterable[Problem]) -> None:
    found = sorted(dict.fromkeys(mistakes), key=position)
    if found:
        raise UserError(found)
