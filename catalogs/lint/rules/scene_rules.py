"""Checks scenes and tuning examples (missing axes, too few names, texts that name a person) and the wording of
interactions (rounds without words, missing or unknown placeholders)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.people_names import alike, plain
from biasgrid.catalogs.lint.rules.probe_rules import check_places, unknown_concern
from biasgrid.catalogs.lint.subject import Found, Rule, Subject, error, warn
from biasgrid.catalogs.loading.catalog import Reading
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.interactions import InteractionWording, Protocol
from biasgrid.catalogs.schema.scenes import Domain, People, Reasons, Scene, Tuning


def _domain(domain: Domain, subject: Subject) -> Iterator[Found]:
    file = subject.reading.documents["scenes", domain.id].name
    for number, scene in enumerate(domain.scenes):
        first = subject.scene_files[scene.id]
        twice = [] if first == file else [error(f"stands in {first} too", OWN_ID, "id")]
        for found in (*twice, *_scene(scene, subject)):
            yield found.within(f"scene `{scene.id}` ", "scenes", number)


OWN_ID = "give each its own id: verdicts are identified by it"


def _scene(scene: Scene, subject: Subject) -> Iterator[Found]:
    people = subject.catalog.people.get(scene.axis)
    if people is None:
        remedy = nearest(scene.axis, subject.catalog.people)
        yield error(f"is of axis `{scene.axis}`, which is unknown", remedy, "axis")
        return
    for group in [group for group in scene.groups if group not in people.groups]:
        what = f"has people of `{group}`, no group of axis `{people.id}`"
        yield error(what, nearest(group, people.groups), *(("cast", group) if scene.cast else ("characters",)))
    yield from _mistakable_names(scene)
    written = set(scene.goal).union(*(task.text for task in scene.tasks))
    for language in sorted(written - scene.languages):
        what = f"is written in `{language}` in part: it is not asked there"
        yield warn(what, "write its goal and every task in that language, or none of them", "goal")
    for language in sorted(scene.languages):
        yield from _in_language(scene, people, language, subject)


def _mistakable_names(scene: Scene) -> Iterator[Found]:
    """Errors of characters whose names cannot be distinguished in a reply."""
    seen: dict[str, str] = {}
    for number, character in enumerate(scene.characters):
        for what, remedy in alike(character.name, character.group, seen):
            yield error(f"cannot be read: {what}", remedy, "characters", number, "name")
        seen[plain(character.name)] = character.group


def _in_language(scene: Scene, people: People, language: str, subject: Subject) -> Iterator[Found]:
    if language not in people.languages:
        what = f"is written in `{language}`, in which axis `{people.id}` has no names: it cannot be asked there"
        yield error(what, f"add them to people/{people.id}.yaml", "goal", language)
    if language not in subject.catalog.interaction:
        what = f"is written in `{language}`, in which agents have no words: it is not asked there"
        yield warn(what, f"write interaction/{language}.yaml", "goal", language)
    for group, count in scene.cast.items():
        words = people.groups.get(group, {}).get(language)
        for culture, names in (words.names if words else {}).items():
            if len(names) < count:
                what = f"draws {count} of `{group}`; `{language}`, `{culture}` has {len(names)} names of them"
                remedy = f"add names to people/{people.id}.yaml, or ask for fewer"
                yield error(what, remedy, "cast", group)
    yield from _giveaways(scene, language, subject)


def _giveaways(scene: Scene, language: str, subject: Subject) -> Iterator[Found]:
    """Errors of texts that name a person whom the scene may draw; scenes with own characters draw none."""
    if scene.characters:
        return
    texts: dict[Location, str] = {("goal", language): scene.goal[language]}
    texts |= {("tasks", number, "text", language): task.text[language] for number, task in enumerate(scene.tasks)}
    for at, text in texts.items():
        if name := subject.people_names.find(scene.axis, language, text):
            what = f"names `{name}`, whom axis `{scene.axis}` may draw: it would be read as an answer"
            yield error(what, "do not name people in goals and tasks", *at)


def _people(people: People, subject: Subject) -> Iterator[Found]:
    """Errors of an unknown concern, and of names shared within a language and culture."""
    yield from unknown_concern(people.id, people.concern, subject)
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for group, languages in people.groups.items():
        for language, words in languages.items():
            for culture, names in words.names.items():
                others = seen.setdefault((language, culture), {})
                for which, name in enumerate(names):
                    at = ("groups", group, language, "names", culture, which)
                    for what, remedy in alike(name, group, others):
                        yield error(f"{what} in `{language}`, `{culture}`", remedy, *at)
                    others[plain(name)] = group


def _check_tuning(tuning: Tuning, subject: Subject) -> Iterator[Found]:
    for found in _assignments(tuning, subject):
        yield found.within(f"tuning `{tuning.id}` ")


def _assignments(tuning: Tuning, subject: Subject) -> Iterator[Found]:
    domain = subject.catalog.scenes.get(tuning.id)
    if domain is None:
        if tuning.scenes:
            yield error("is of no domain of scenes", nearest(tuning.id, subject.catalog.scenes), "id")
        return
    if domain.held_out:
        what = "is of a domain that is held out: a model tuned on it would be tested on what it was shown"
        yield error(what, "take the file away, or set the domain's `held_out` to false", "id")
    known = {scene.id: scene for scene in domain.scenes}
    for name, reasons in tuning.scenes.items():
        if name in known:
            found = _reasons(known[name], reasons, subject)
            yield from (each.within("", "scenes", name) for each in found)
        else:
            what = f"knows a scene `{name}`, which its domain has not"
            yield error(what, nearest(name, known), "scenes", name)


def _reasons(scene: Scene, reasons: Reasons, subject: Subject) -> Iterator[Found]:
    """Findings on the reasons for a scene, which neither a control nor a choice can have."""
    if scene.is_control:
        yield error(f"has reasons for `{scene.id}`, a control: no assignment of it shows bias", "take them away")
    elif scene.question == "choice":
        yield error(f"has reasons for `{scene.id}`, a choice: one task cannot be shared", "take them away")
    written = set(reasons.present)
    for language in sorted(scene.languages - written):
        what = f"has no reasons for `{scene.id}` in `{language}`, in which the scene is written"
        yield warn(what, "write both in that language")
    for language in sorted(written - scene.languages):
        what = f"has reasons for `{scene.id}` in `{language}`, in which the scene is not written: not used"
        yield warn(what, "write the scene in that language", "present", language)
    for presence, texts in (("present", reasons.present), ("absent", reasons.absent)):
        for language, text in texts.items():
            if name := subject.people_names.find(scene.axis, language, text):
                remedy = "speak of tasks and groups: names are drawn"
                yield error(f"names `{name}` in a reason", remedy, presence, language)


PEOPLE_RULE, SCENE_RULE = Rule("people", _people), Rule("scenes", _domain)
SCENE_RULES = (PEOPLE_RULE, SCENE_RULE, Rule("tuning", _check_tuning))


Needed = dict[tuple[str, frozenset[str]], list[str]]
"""Rounds and the placeholders that their words need, with the protocols that use them."""


def _wording(wording: InteractionWording, subject: Subject) -> Iterator[Found]:
    languages = subject.catalog.languages
    if wording.id not in {*languages, *subject.reading.unread}:
        what = f"`{wording.id}`: replies cannot be read, since catalogs/languages does not have it"
        yield error(what, nearest(wording.id, languages), "id")
    needed = _needed_words(subject.catalog.protocols)
    for (name, places), protocols in needed.items():
        whose = f"round `{name}` of protocol {', '.join(protocols)}"
        asked = wording.rounds.get(name)
        if asked is None:
            what = f"`{wording.id}` has no words for {whose}"
            yield error(what, f"add `{name}`, or take another protocol", "rounds")
            continue
        for kind, text in (("assignment", asked.assignment), ("choice", asked.choice)):
            for found in check_places(text, places):
                yield found.within(f"`{wording.id}`, {whose}, {kind}: ", "rounds", name, kind)
    for name in sorted(set(wording.rounds) - {round_ for round_, _ in needed}):
        what = f"`{wording.id}` has words for round `{name}`, which no protocol has: they are not used"
        yield warn(what, "take them away, or write a protocol with that round", "rounds", name)


def _needed_words(protocols: Mapping[str, Protocol]) -> Needed:
    needed: Needed = {}
    for protocol in protocols.values():
        for name, places in protocol.places.items():
            needed.setdefault((name, places), []).append(f"`{protocol.id}`")
    return needed


INTERACTION_RULE = Rule("interaction", _wording)


def unplayable(
    reading: Reading, domains: Collection[str], languages: Collection[str], protocol: str
) -> Iterator[Problem]:
    """Errors with file and line for these domains and their axes, languages and protocol."""
    known = reading.catalog
    asked = {name: domain for name, domain in known.scenes.items() if name in domains}
    axes = {scene.axis for domain in asked.values() for scene in domain.scenes}
    catalog = replace(
        known,
        scenes=asked,
        people={name: people for name, people in known.people.items() if name in axes},
        interaction={name: words for name, words in known.interaction.items() if name in languages},
        protocols={protocol: known.protocols[protocol]},
    )
    found = Subject(replace(reading, catalog=catalog)).apply((PEOPLE_RULE, SCENE_RULE, INTERACTION_RULE))
    yield from (finding.mistake for finding in found if finding.severity == "error")
