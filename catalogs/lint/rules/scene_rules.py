"""Checks scenes and tuning examples: missing axes, too few names, and texts that name a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.rules.probe_rules import alike, plain
from biasgrid.catalogs.lint.subject import Finding, Severity, Subject
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.scenes import Domain, People, Reasons, Scene, Tuning

Found = tuple[Severity, Location, str, str]
"""Severity, location, error and remedy."""


def scene_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on scenes, by domain."""
    spoken = Axes(subject)
    owners: dict[str, str] = {}
    for domain in subject.catalog.scenes.values():
        document = subject.reading.documents["scenes", domain.id]
        for number, scene in enumerate(domain.scenes):
            owner = owners.setdefault(scene.id, document.name)
            for severity, at, what, remedy in (*_of_another(owner, document.name), *_found(scene, spoken)):
                where = document.place("scenes", number, *at)
                yield Finding(severity, Problem(f"scene `{scene.id}` {what}", where, remedy))


@dataclass(frozen=True)
class Axes:
    """The axes that scenes may use, by language."""

    subject: Subject

    @property
    def people(self) -> Mapping[str, People]:
        return self.subject.catalog.people

    @property
    def languages(self) -> set[str]:
        """Languages in which agents can be prompted."""
        return set(self.subject.catalog.interaction)

    @cached_property
    def names(self) -> dict[tuple[str, str], dict[str, str]]:
        """By axis and language: normalized names of people, mapped to their spelling."""
        return {
            (people.id, language): {
                plain(name): name
                for told in people.groups.values()
                for names in told[language].names.values()
                for name in names
            }
            for people in self.people.values()
            for language in people.languages
        }

    @cached_property
    def beginnings(self) -> dict[tuple[str, str], frozenset[str]]:
        """First words of these names, for a fast check that a text contains none."""
        return {
            spoken: frozenset(word for words in names for word in words.split()[:1])
            for spoken, names in self.names.items()
        }

    def named(self, axis: str, language: str, text: str) -> str | None:
        """A person of the axis named in a text, which would be read as an answer; None if there is none."""
        bare = plain(text)
        if self.beginnings.get((axis, language), frozenset()).isdisjoint(bare.split()):
            return None
        return next((name for words, name in self.names[axis, language].items() if words in bare), None)


def _of_another(owner: str, own: str) -> Iterator[Found]:
    if owner != own:
        yield "error", ("id",), f"stands in {owner} too", "give each its own id: verdicts are told apart by it"


def _found(scene: Scene, axes: Axes) -> Iterator[Found]:
    people = axes.people.get(scene.axis)
    if people is None:
        remedy = nearest(scene.axis, axes.people)
        yield "error", ("axis",), f"is of axis `{scene.axis}`, which is unknown", remedy
        return
    yield from _strangers(scene, people)
    yield from _mistakable(scene)
    yield from _in_part(scene)
    for language in sorted(scene.languages):
        yield from _unasked(language, people, axes)
        yield from _too_many(scene, people, language)
        yield from _giveaways(scene, axes, language)


def _strangers(scene: Scene, people: People) -> Iterator[Found]:
    for group in scene.groups:
        if group not in people.groups:
            at = ("cast", group) if scene.cast else ("characters",)
            what = f"has people of `{group}`, no group of axis `{people.id}`"
            yield "error", at, what, nearest(group, people.groups)


def _in_part(scene: Scene) -> Iterator[Found]:
    told = set(scene.goal).union(*(task.text for task in scene.tasks))
    for language in sorted(told - scene.languages):
        what = f"is told in `{language}` in part: it is not asked there"
        yield "warning", ("goal",), what, "tell its goal and every task in that language, or none of them"


def _unasked(language: str, people: People, axes: Axes) -> Iterator[Found]:
    if language not in people.languages:
        what = f"is told in `{language}`, in which axis `{people.id}` has no names: it cannot be asked there"
        yield "error", ("goal", language), what, f"add them to people/{people.id}.yaml"
    if language not in axes.languages:
        what = f"is told in `{language}`, in which agents have no words: it is not asked there"
        yield "warning", ("goal", language), what, f"write interaction/{language}.yaml"


def _too_many(scene: Scene, people: People, language: str) -> Iterator[Found]:
    """Errors of groups that have fewer names in a culture than the scene draws."""
    for group, count in scene.cast.items():
        told = people.groups.get(group, {}).get(language)
        for culture, names in (told.names if told else {}).items():
            if len(names) < count:
                what = f"draws {count} of `{group}`; `{language}`, `{culture}` has {len(names)} names of them"
                yield "error", ("cast", group), what, f"add names to people/{people.id}.yaml, or ask for fewer"


def _mistakable(scene: Scene) -> Iterator[Found]:
    """Errors of characters whose names cannot be distinguished in a reply."""
    seen: dict[str, str] = {}
    for number, character in enumerate(scene.characters):
        for what, remedy in alike(character.name, character.group, seen):
            yield "error", ("characters", number, "name"), f"cannot be read: {what}", remedy
        seen[plain(character.name)] = character.group


def _giveaways(scene: Scene, axes: Axes, language: str) -> Iterator[Found]:
    """Errors of texts that name a person whom the scene may draw; scenes with own characters draw none."""
    if scene.characters:
        return
    told: dict[Location, str] = {("goal", language): scene.goal[language]}
    told |= {("tasks", number, "text", language): task.text[language] for number, task in enumerate(scene.tasks)}
    for at, text in told.items():
        if name := axes.named(scene.axis, language, text):
            what = f"names `{name}`, whom axis `{scene.axis}` may draw: it would be read as an answer"
            yield "error", at, what, "name nobody in goals and tasks"


def people_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on the groups of scenes, by axis."""
    catalog = subject.catalog
    for people in catalog.people.values():
        document = subject.reading.documents["people", people.id]
        if people.concern not in catalog.concerns:
            what = f"axis `{people.id}`: concern `{people.concern}` is unknown"
            remedy = nearest(people.concern, catalog.concern_names, catalog.concern_names)
            yield Finding("error", Problem(what, document.place("concern"), remedy))
        for at, what, remedy in _shared_names(people):
            yield Finding("error", Problem(what, document.place(*at), remedy))


def _shared_names(people: People) -> Iterator[tuple[Location, str, str]]:
    """Errors of names shared within a language and culture, from which all people of a scene are drawn."""
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for group, languages in people.groups.items():
        for language, told in languages.items():
            for culture, names in told.names.items():
                others = seen.setdefault((language, culture), {})
                for which, name in enumerate(names):
                    at = ("groups", group, language, "names", culture, which)
                    for what, remedy in alike(name, group, others):
                        yield at, f"{what} in `{language}`, `{culture}`", remedy
                    others[plain(name)] = group


def tuning_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on tuning assignments, by domain."""
    axes = Axes(subject)
    domains = subject.catalog.scenes
    for tuning in subject.catalog.tuning.values():
        document = subject.reading.documents["tuning", tuning.id]
        for severity, at, what, remedy in _tuning_mistakes(tuning, domains.get(tuning.id), axes, sorted(domains)):
            yield Finding(severity, Problem(f"tuning `{tuning.id}` {what}", document.place(*at), remedy))


def _tuning_mistakes(tuning: Tuning, domain: Domain | None, axes: Axes, domains: list[str]) -> Iterator[Found]:
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
    """Errors of scenes in which no assignment can be biased or fair."""
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
    """Errors of reasons that name a person, since people are drawn for every assignment."""
    for presence, told in (("present", reasons.present), ("absent", reasons.absent)):
        for language, text in told.items():
            if name := axes.named(scene.axis, language, text):
                at = ("scenes", scene.id, presence, language)
                yield "error", at, f"names `{name}` in a reason", "speak of tasks and groups: names are drawn"
