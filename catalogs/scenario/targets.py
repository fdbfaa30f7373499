"""Resolves target files for probes and attacks, and reports all errors at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.choices import StrategyName
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.scenario.resolution import (
    Draft,
    Given,
    ResolvedFile,
    Source,
    apply_options,
    read_source,
    without_keys,
)
from biasgrid.catalogs.schema.base import slug
from biasgrid.catalogs.schema.models import Target, endpoint_target, patient
from biasgrid.catalogs.schema.probes import ProbeAxis, axes_among
from biasgrid.catalogs.schema.target_file import Pair, Probing, RedTeam, TargetFile, drawn_pairs


@dataclass(frozen=True, kw_only=True)
class ResolvedTarget(ResolvedFile):
    """A runnable target file."""

    file: TargetFile

    @property
    def aim(self) -> Probing | RedTeam:
        """The section that chooses pairs."""
        raise NotImplementedError

    @property
    def pairs(self) -> list[Pair]:
        """Catalog pairs that the run asks about, the same in each language."""
        target = self.file.target
        named = {"of_axes": self.aim.axes, "sectors": target.sectors, "languages": target.languages}
        groups = self.aim.groups if isinstance(self.aim, Probing) else ()
        axes = axes_among(self.catalog.probes, groups)
        return drawn_pairs(axes, self.aim.pairs, self.file.asking.seed, **named)

    @property
    def concerns(self) -> set[str]:
        return {axis.concern for axis, _ in self.pairs}

    @property
    def languages(self) -> set[str]:
        return set(self.file.target.languages)


@dataclass(frozen=True, kw_only=True)
class ResolvedProbe(ResolvedTarget):
    """A resolved target for a probe."""

    kind: ClassVar[str] = "probe"
    generator: Target | None = None

    @property
    def aim(self) -> Probing:
        return self.file.probe

    @property
    def asked(self) -> list[Target]:
        return [*super().asked, *([self.generator] if self.generator else [])]


@dataclass(frozen=True, kw_only=True)
class ResolvedAttack(ResolvedTarget):
    """A resolved target for an attack."""

    kind: ClassVar[str] = "redteam"
    attacker: Target | None = None

    @property
    def aim(self) -> RedTeam:
        return self.file.redteam

    @property
    def asked(self) -> list[Target]:
        """Every model queried, once each, since a model may have several roles."""
        named = [*super().asked, *([self.attacker] if self.attacker else [])]
        return list({target.model: target for target in named}.values())


def resolve_probe(
    source: Source,
    given: Given | None = None,
    inspect: Callable[[ResolvedProbe], Iterable[Problem]] = lambda _: (),
) -> ResolvedProbe:
    """The resolved target file; raises UserError with all errors of the file, its names, and `inspect`."""
    draft, file = _read(source, given or {})
    catalog, probe = draft.catalog, file.probe
    sectors = {sector for axis in catalog.probes.values() for pair in axis.pairs for sector in pair.sectors}
    _check_pairs(draft, probe, "probe", "the probe")
    draft.check_names("sector {} is unknown to the probe", file.target.sectors, sectors, "target", "sectors")
    unknown = "language {} is unknown to the probe"
    draft.check_names(unknown, file.target.languages, catalog.probing, "target", "languages")
    if probe.generator is not None:
        _check_generator(draft, file)
    if probe.groups:
        _check_groups(draft, file)
    draft.stop_at_problems()
    generator = patient(catalog.target(probe.generator)) if probe.generator else None
    resolved = ResolvedProbe(**_common(draft, file), judge=None, generator=generator)
    draft.stop_at_problems(inspect(resolved))
    return resolved


NEED_NO_ATTACKER: frozenset[StrategyName] = frozenset({"one_shot", "implicit_separated"})
ANEW = (
    "`asking.reuse: all` is for probes: what a red team writes follows from the replies before it, and only those "
    "of its own run are kept"
)


def resolve_attack(
    source: Source,
    given: Given | None = None,
    inspect: Callable[[ResolvedAttack], Iterable[Problem]] = lambda _: (),
) -> ResolvedAttack:
    """The resolved target file; raises UserError with all errors of the file, its names, and `inspect`."""
    draft, file = _read(source, given or {})
    catalog, own = draft.catalog, file.redteam
    _check_pairs(draft, own, "redteam", "the red team")
    unknown = "language {} is unknown to the red team"
    draft.check_names(unknown, file.target.languages, catalog.attacks, "target", "languages")
    _check_roles(draft, own)
    draft.stop_at_problems()
    resolved = ResolvedAttack(
        **_common(draft, file),
        judge=catalog.target(own.judge or ""),
        attacker=catalog.target(own.attacker) if own.attacker else None,
        notices=(ANEW,) if file.asking.reuse == "all" else (),
    )
    if resolved.judge and resolved.judge.model in resolved.targets and not own.judge_may_be_target:
        remedy = "name another judge, or set `redteam.judge_may_be_target: true`"
        draft.add(f"`{resolved.judge.model}` would judge its own replies", remedy, "redteam", "judge")
    draft.stop_at_problems(inspect(resolved))
    return resolved


def _read(source: Source, given: Given) -> tuple[Draft, TargetFile]:
    """The validated file, with errors of its model names."""
    remedy = "write `target:` with `models:` or an `endpoint:`"
    text, document = read_source(source, "target", "describes no target", remedy)
    document = apply_options(document, given)
    if ("target", "models") in given:  # given models also replace the file's own chatbot
        document = without_keys(document, "target", ("endpoint",))
    draft = Draft(text, document, read_catalog(scenes=False))
    draft.check_tested("target", "a chatbot")
    return draft, draft.validate(TargetFile)


def _common(draft: Draft, file: TargetFile) -> dict[str, Any]:
    """Fields common to all kinds of resolved targets."""
    name = file.name or Path(draft.document.name).stem
    targets = {target.model: target for target in map(draft.catalog.target, file.target.models)}
    described = file.target.model_copy(update={"models": tuple(targets)})
    if file.target.endpoint is not None:
        own = endpoint_target(slug(name) or "chatbot", file.target.endpoint)
        if own.model in targets:
            what = f"`{own.model}` is in `models`, and the file's own chatbot would be called so, too"
            where = draft.document.place("target", "endpoint")
            raise UserError(Problem(what, where, "give the file another `name`"))
        targets[own.model] = own
    file = file.model_copy(update={"target": described})
    return {"name": name, "given": draft.text, "catalog": draft.catalog, "targets": targets, "file": file}


def _check_pairs(draft: Draft, aim: Probing | RedTeam, section: str, role: str) -> None:
    probes = draft.catalog.probes
    pairs = [pair.id for axis in probes.values() for pair in axis.pairs]
    draft.check_names(f"axis {{}} is unknown to {role}", aim.axes, probes, section, "axes")
    draft.check_names(f"attribute pair {{}} is unknown to {role}", aim.pairs, pairs, section, "pairs")


def _check_generator(draft: Draft, file: TargetFile) -> None:
    draft.check_model(file.probe.generator, "probe", "generator")
    if not isinstance(file.probe.pairs, int):
        what = "a generator proposes pairs, and `pairs` names them: nothing is left to propose"
        draft.add(what, "write how many `pairs`, or leave `generator` out", "probe", "generator")
    for index, language in enumerate(file.target.languages):
        wording = draft.catalog.probing.get(language)
        if wording is not None and wording.loader is None:
            what = f"no generator can be asked in `{language}`: probing/{language}.yaml has no `loader`"
            draft.add(what, "add it, or leave `generator` out", "target", "languages", index)


def _check_groups(draft: Draft, file: TargetFile) -> None:
    """Adds errors of groups that no axis has together, and of a generator, which compares two."""
    own, where = file.probe, ("probe", "groups")
    groups = {name: {one.id for one in axis.groups} for name, axis in draft.catalog.probes.items()}
    named = set(own.groups)
    near = [ids for ids in groups.values() if ids & named] or [ids for ids in groups.values() if len(ids) > 2]
    known = set[str]().union(*near)
    draft.check_names("group {} is unknown to the probe", own.groups, known, *where)
    axis = next((axis for axis, ids in groups.items() if named <= ids), None)
    if axis is not None:
        _check_groups_of(draft.catalog.probes[axis], draft, file)
    elif named <= known:
        draft.add(f"`{'`, `'.join(own.groups)}` are of several axes", "name groups of one axis", *where)
    if own.generator is not None:
        draft.add("a generator proposes pairs of two groups", "leave `groups` or `generator` out", *where)


def _check_groups_of(axis: ProbeAxis, draft: Draft, file: TargetFile) -> None:
    """Adds errors of groups without names in a language, of groups that no stereotype is about, and of other axes
    or pairs that are named."""
    own = file.probe
    _check_stereotypes(axis, draft, own)
    for name, language in product(own.groups, file.target.languages):
        words = axis.group(name).words.get(language)
        if words is None or not words.names:
            what = f"group `{name}` has no names in `{language}`"
            remedy = "leave the group or the language out, or add names to a catalog"
            draft.add(what, remedy, "probe", "groups")
    if own.axes and axis.id not in own.axes:
        what = f"`groups` are of axis `{axis.id}`, and `axes` names others"
        draft.add(what, "leave `axes` out, or name groups of that axis", "probe", "axes")
    if not isinstance(own.pairs, int):
        among = {pair.id for pair in axes_among({axis.id: axis}, own.groups)[axis.id].pairs}
        others = {pair.id for one in draft.catalog.probes.values() for pair in one.pairs} - among
        for index, name in enumerate(own.pairs):
            if name in others:
                what = f"attribute pair `{name}` is of other groups than `probe.groups`"
                draft.add(what, nearest(name, among), "probe", "pairs", index)


def _check_stereotypes(axis: ProbeAxis, draft: Draft, own: Probing) -> None:
    """Adds an error where no stereotype is about two of the groups."""
    of_pairs = [{pair.favoured, pair.stigmatised} for pair in axis.pairs]
    if any(two <= set(own.groups) for two in of_pairs):
        return
    lacking = sorted(set().union(*(two for two in of_pairs if two & set(own.groups))) - set(own.groups))
    what = f"no attribute pair is about two of `{'`, `'.join(own.groups)}`"
    draft.add(what, f"add {' or '.join(f'`{name}`' for name in lacking)}", "probe", "groups")


def _check_roles(draft: Draft, own: RedTeam) -> None:
    """Adds errors of a missing judge, or of a missing attacker if a strategy needs one."""
    draft.check_model(own.attacker, "redteam", "attacker")
    draft.check_model(own.judge, "redteam", "judge")
    if own.judge is None:
        remedy = "name a model under `redteam.judge`, or give `--judge`; `simulated/red-judge` needs no key"
        draft.add("no judge is named", remedy, "redteam", "judge")
    needing = [strategy for strategy in own.strategies if strategy not in NEED_NO_ATTACKER]
    if own.attacker is None and needing:
        what = f"`{'`, `'.join(needing)}` need an attacker, and none is named"
        remedy = "name a model under `redteam.attacker`, or give `--attacker`; `simulated/attacker` needs no key"
        draft.add(what, remedy, "redteam", "attacker")
