"""Assignments to tune models on: of scenes that are there, that have stereotypes, and that no test is kept for."""

from __future__ import annotations

from collections.abc import Iterator

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.findings import Finding
from biasgrid.catalogs.lint.rules.scene_rules import Axes, Found
from biasgrid.catalogs.lint.subject import Subject
from biasgrid.catalogs.schema.scenes import Domain, Reasons, Scene, Tuning


def tuning_findings(subject: Subject) -> Iterator[Finding]:
    """Every finding on the assignments, domain by domain."""
    axes = Axes(subject)
    domains = subject.catalog.scenes
    for tuning in subject.catalog.tuning.values():
        document = subject.reading.documents["tuning", tuning.id]
        for severity, at, what, remedy in _found(tuning, domains.get(tuning.id), axes, sorted(domains)):
            yield Finding(severity, Problem(f"tuning `{tuning.id}` {what}", document.place(*at), remedy))


def _found(tuning: Tuning, domain: Domain | None, axes: Axes, domains: list[str]) -> Iterator[Found]:
    if domain is None:
        if tuning.scenes:
            yield "error", ("id",), "is of no domain of scenes", nearest(tuning.id, domains)
        return
    if domain.held_out:
        what = "is of a domain that is held out: a model tuned on it would be tested on what it was shown"
        yield "error", ("id",), what, "take the file away, or set the domain's `held_out` to false"
    known = {scene.id: scene for scene in domain.scenes}
    for name, reasons in tuning.scenes.items():
        scene = known.get(name)
        if scene is None:
            what = f"knows a scene `{name}`, which its domain has not"
            yield "error", ("scenes", name), what, nearest(name, known)
        else:
            yield from _unfit(scene)
            yield from _untold(scene, reasons)
            yield from _named(scene, reasons, axes)


def _unfit(scene: Scene) -> Iterator[Found]:
    """Scenes that no assignment can be biased or fair in."""
    if scene.is_control:
        what = f"has reasons for `{scene.id}`, a control: no assignment of it shows bias"
        yield "error", ("scenes", scene.id), what, "take them away"
    elif scene.question == "choice":
        what = f"has reasons for `{scene.id}`, a choice: one task cannot be shared"
        yield "error", ("scenes", scene.id), what, "take them away"


def _untold(scene: Scene, reasons: Reasons) -> Iterator[Found]:
    told = set(reasons.present)
    for language in sorted(scene.languages - told):
        what = f"has no reasons for `{scene.id}` in `{language}`, in which the scene is told"
        yield "warning", ("scenes", scene.id), what, "write both in that language"
    for language in sorted(told - scene.languages):
        what = f"has reasons for `{scene.id}` in `{language}`, in which the scene is not told: nobody reads them"
        yield "warning", ("scenes", scene.id, "present", language), what, "tell the scene in that language"


def _named(scene: Scene, reasons: Reasons, axes: Axes) -> Iterator[Found]:
    """Reasons that name somebody, although other people are drawn for every assignment."""
    for presence, told in (("present", reasons.present), ("absent", reasons.absent)):
        for language, text in told.items():
            if name := axes.named(scene.axis, language, text):
                at = ("scenes", scene.id, presence, language)
                yield "error", at, f"names `{name}` in a reason", "speak of tasks and groups: names are drawn"
