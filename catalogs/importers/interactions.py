"""Imports a published study of agents that share out tasks: scenes, and assignments for fine-tuning."""

# The order of tasks gives their labels: first as many tasks of men's stereotypes as there are men, then women's.
# A valid row has two to four tasks, as many characters, and for four tasks two of each group. Four tasks in prose
# are two of each group too, for as many men as women.

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final, Self

from pydantic import model_validator

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.result import (
    Imported,
    NotTheFormat,
    convert,
    refuse,
    shorten,
    slug,
    validate_fields,
    with_columns,
)
from biasgrid.catalogs.importers.scene_text import (
    NumberedLine,
    SceneText,
    listed_tasks,
    one_line,
    prose_tasks,
    scene_text,
    whole_text,
)
from biasgrid.catalogs.importers.task_labels import TaskLabels
from biasgrid.catalogs.loading.catalog import OVERLAY, load_catalog
from biasgrid.catalogs.loading.documents import parse_document, read_document, validate
from biasgrid.catalogs.loading.tables import Row, Table, numbered_lines, read_table
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.scenes import Character, People, Scene

FILE: Final = "given_names.yaml"
GENDER: Final = "gender"
"""The axis of catalogs/people whose names are also used."""
TITLES: Final = (
    *("dr", "doctor", "prof", "professor", "officer", "coach", "captain", "chef", "nurse", "judge", "teacher"),
    *("sergeant", "detective", "engineer", "principal", "pastor", "senator", "agent", "manager", "director"),
)
TITLES_OF: Final = {
    **dict.fromkeys(("mr", "mister", "sir", "uncle", "grandpa", "father", "dad"), "men"),
    **dict.fromkeys(("mrs", "ms", "miss", "madam", "aunt", "grandma", "mother", "mom"), "women"),
}


class GivenNames(Frozen):
    men: tuple[str, ...]
    women: tuple[str, ...]

    @model_validator(mode="after")
    def _differ(self) -> Self:
        both = sorted({*map(_plain, self.men)} & {*map(_plain, self.women)})
        if both:
            raise ValueError(f"`men` and `women` both hold `{'`, `'.join(both)}`")
        return self


def given_names() -> GivenNames:
    """First names of the overlay, where it has the file, else the shipped ones. Raises UserError."""
    own = Path(os.environ.get(OVERLAY) or ".") / FILE
    if os.environ.get(OVERLAY) and own.is_file():
        return validate(GivenNames, read_document(own))
    return _shipped_names()


@cache
def _shipped_names() -> GivenNames:
    path = resources.files("biasgrid.catalogs") / FILE
    return validate(GivenNames, parse_document(path.read_text(encoding="utf-8"), FILE))


def genders(people: People | None) -> dict[str, str]:
    """Gender group by normalized name, shipped or of the axis `gender`; ambiguous names are left out."""
    own, found = given_names(), dict[str, set[str]]()
    shipped = [(group, name) for group in ("men", "women") for name in getattr(own, group)]
    for group, name in (*shipped, *_names_of_axis(people)):
        found.setdefault(_plain(name), set()).add(group)
    return {name: next(iter(groups)) for name, groups in found.items() if len(groups) == 1}


def gender_of(person: str, known: dict[str, str]) -> str | None:
    """Gender group by the whole name, a title that has one, or the given name; None if none shows it."""
    words = [word.rstrip(".") for word in _plain(person).split()]
    if not words or " ".join(words) in known:
        return known.get(" ".join(words))
    if words[0] in TITLES_OF:
        return TITLES_OF[words[0]]
    return known.get(words[1] if words[0] in TITLES and len(words) > 1 else words[0])


def read_genders(text: str, file: str) -> dict[tuple[str, str], str]:
    """Gender groups by scene (empty: all) and name, from a table with `name` and `gender`, or a sheet of an import
    whose rows are confirmed. Raises UserError."""
    table = with_columns(read_table(text, file), ("name", "gender"), "a table of genders")
    found: dict[tuple[str, str], str] = {}
    wrong: list[Problem] = []
    for row in table.rows():
        group = GENDERS.get(row.text("gender").lower())
        if "confirmed" in table.header and row.text("confirmed").lower() not in YES:
            continue
        if group is None:
            what = f"`{shorten(row.text('gender'))}` is no gender"
            wrong.append(Problem(what, place(file, row.line), "write M or F"))
        else:
            found[row.text("scene"), _plain(row.text("name"))] = group
    if wrong:
        raise UserError(wrong)
    return found


YES: Final = ("yes", "y", "x", "1", "true", "sí", "si")


def _names_of_axis(people: People | None) -> Iterator[tuple[str, str]]:
    for group, languages in (people.groups if people else {}).items():
        for words in languages.values():
            yield from ((group, name) for names in words.names.values() for name in names)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


GENDERS: Final = {
    **dict.fromkeys(("male", "m", "man", "men", "boy"), "men"),
    **dict.fromkeys(("female", "f", "woman", "women", "girl"), "women"),
}
SEPARATOR: Final = re.compile(r"\s*(?:,|;|\n|&|\bas well as\b|\balong with\b|\band\b)\s*")
ITEM_MARK: Final = re.compile(r"^(?:\d{1,2}[.)]|[-*•–])\s+")
PERSON: Final = re.compile(r"(?P<name>[^\W\d_][^()\[\]:]*?)(?:\s*[(\[]\s*(?P<gender>[^()\[\]]*?)\s*[)\]])?")
LONGEST_NAME: Final = 3
"""Maximum number of words in a name."""


def characters(text: str, known: dict[str, str], tasks: int = 0) -> tuple[Character, ...]:
    """People of a list; `known` maps names to groups. Of as many people as tasks, half of each group, those whose
    names show no gender are inferred. Raises UserError with all people of unknown gender."""
    items = [ITEM_MARK.sub("", item).strip() for item in SEPARATOR.split(text.strip().rstrip("."))]
    found: list[tuple[str, str | None]] = []
    wrong: list[Problem] = []
    for item in filter(None, items):
        try:
            found.append(_character(item.rstrip(". "), known))
        except UserError as unread:
            wrong += unread.mistakes
    rest = _group_of_the_rest([group for _, group in found], tasks)
    if rest is None:
        unclear = [name for name, group in found if group is None]
        remedy = "write (M) or (F) behind it, or name a table of names by `--genders`"
        wrong += [Problem(f"the gender of `{name}` is unknown", remedy=remedy) for name in unclear]
    if wrong:
        raise UserError(wrong)
    return tuple(Character(name=name, group=group or rest or "", inferred=group is None) for name, group in found)


def _group_of_the_rest(groups: list[str | None], tasks: int) -> str | None:
    """The group of people whose names show none, where half of the people are of each and one half is known."""
    if len(groups) != tasks or tasks % 2:
        return None
    full = [group for group in ("men", "women") if groups.count(group) == tasks // 2]
    return {"men": "women", "women": "men"}[full[0]] if len(full) == 1 else None


def _character(item: str, known: dict[str, str]) -> tuple[str, str | None]:
    match = PERSON.fullmatch(item)
    if match is None or len(match["name"].split()) > LONGEST_NAME:
        raise refuse(f"`{shorten(item)}` is no name", "name each once, commas between")
    name, bracket = match["name"].strip(), match["gender"]
    group = gender_of(name, known) if bracket is None else GENDERS.get(bracket.lower())
    if group is None and bracket is not None:
        raise refuse(f"`{shorten(item)}` names no gender in its brackets", "write (M) or (F)")
    return name, group


SITUATIONS: Final = ("scenarios",)
"""Columns of tables with goal, tasks and characters in one text per row."""
SCENES: Final = ("scene", "characters")
"""Columns of tables with goal and tasks in one text and the characters in another."""
TITLE: Final = "social task:"
SCENE: Final = "scene:"
MOST_TASKS: Final = 4


Stated = Mapping[tuple[str, str], str]
"""Gender groups that the user states, by scene (empty: all) and name."""


def read(text: str, file: str, language: str, stated: Stated | None = None) -> Imported:
    """Scenes of a table, or assignments of JSON lines; raises NotTheFormat if it is neither."""
    if text.lstrip().startswith(("{", "[")):
        return _assignments(text, file, language)
    found = read_table(text, file)
    if not (set(SITUATIONS) <= set(found.header) or set(SCENES) <= set(found.header)):
        what = f"has no column `{SITUATIONS[0]}`, nor `{'` and `'.join(SCENES)}`"
        raise NotTheFormat(Problem(what, found.place, "name a table of scenes, or JSON lines of messages"))
    return _scenes(found, file, language, stated or {})


def _assignments(text: str, file: str, language: str) -> Imported:
    lines = ((number, NumberedLine(row, line)) for row, (number, line) in enumerate(numbered_lines(text)))
    made = partial(whole_text, language=language)
    return convert(file, "examples", lines, made, lambda one: one.text[language].casefold())


def _scenes(found: Table, file: str, language: str, stated: Stated) -> Imported:
    catalog = load_catalog()
    known = _Genders(genders(catalog.people.get(GENDER)), stated)
    labels = TaskLabels.learn((scene for domain in catalog.scenes.values() for scene in domain.scenes), language)
    made = partial(_scene, stem=slug(Path(file).stem), language=language, known=known, labels=labels)
    # each row has its own number, or else its index from 0
    rows = ((row.line, (row.text("") or str(count), row)) for count, row in enumerate(found.rows()))
    read = convert(file, "scenes", rows, made, lambda scene: _text_of(scene, language))
    return replace(read, notices=tuple(_list_doubts(read)))


def _list_doubts(read: Imported) -> Iterator[str]:
    unsure = sum(any(person.inferred for person in scene.characters) for scene in read.scenes)
    if unsure:
        yield f"scenes with people of inferred gender, not played until you confirm them: {unsure}"
    doubtful = [scene.id for scene in read.scenes if scene.labels_doubtful]
    if doubtful:
        named = ", ".join(doubtful)
        yield (
            "scenes whose tasks suggest other stereotypes than their order, not played until you check `to` "
            f"and remove `labels_doubtful`: {named}"
        )


@dataclass(frozen=True, slots=True)
class _Genders:
    """Gender groups by name: of catalogs, and those that the user states."""

    shipped: dict[str, str]
    stated: Stated

    def of_scene(self, scene: str) -> dict[str, str]:
        own = {name: group for (of, name), group in self.stated.items() if of in ("", scene)}
        return self.shipped | own


def _text_of(scene: Scene, language: str) -> str:
    """Text of a scene as a key for duplicates, without names."""
    return "; ".join([scene.goal[language], *(task.text[language] for task in scene.tasks)]).casefold()


def _refuse_braces(*texts: str) -> None:
    """Raises UserError for a text with braces: a scene's wording is filled in by names in braces."""
    for text in texts:
        if re.search(r"[{}]", text):
            raise refuse(f"holds a brace: `{shorten(text)}`", "remove it: it would open a placeholder")


def _scene(numbered: tuple[str, Row], *, stem: str, language: str, known: _Genders, labels: TaskLabels) -> Scene:
    number, row = numbered
    try:
        read = scene_text(row.text(SITUATIONS[0])) if SITUATIONS[0] in row.cells else _titled_scene(row)
        name = f"{stem}-{slug(number)}"
        # two people share four tasks in prose
        people = characters(read.people, known.of_scene(name), 0 if read.in_prose else len(read.tasks))
        _refuse_braces(read.goal, *read.tasks)
        fields = _fields(name, read, people, language)
        of_men = sum(task["to"] == "men" for task in fields["tasks"])
        return validate_fields(Scene, fields | {"labels_doubtful": labels.are_doubtful(read.tasks, of_men)})
    except UserError as wrong:
        what = "; ".join(mistake.what for mistake in wrong.mistakes)
        raise refuse(f"row {shorten(number)}: {what}", wrong.mistakes[0].remedy) from wrong


def _titled_scene(row: Row) -> SceneText:
    """Scene of a row with a title, whose text contains the goal and the tasks, and a column of characters."""
    text = row.text("scene")
    if text.lower().count(TITLE) > 1 or text.lower().count(SCENE) > 1:
        raise refuse("holds more than one scene", "give each scene a row of its own")
    title, _, body = text.partition("\n") if text.lower().startswith(TITLE) else ("", "", text)
    named = one_line(title[len(TITLE) :])
    before, colon, listed = body.removeprefix("Scene:").rpartition(":")
    if not colon:
        return SceneText(named or one_line(body), prose_tasks(listed), row.text("characters"), in_prose=True)
    return SceneText(one_line(before) or named, listed_tasks(listed.strip()), row.text("characters"))


def _fields(name: str, read: SceneText, people: tuple[Character, ...], language: str) -> dict[str, Any]:
    """Fields of a scene; raises UserError if the order of tasks does not determine their stereotypes."""
    men = sum(character.group == "men" for character in people)
    women, tasks = len(people) - men, len(read.tasks)
    if not (read.in_prose and men == women <= tasks // 2 and men):
        counts = f"{tasks} tasks, {men} men and {women} women"
        if not men or not women:
            raise refuse(f"has {counts}: needs people of both groups", "name both, or remove the row")
        uneven = tasks == MOST_TASKS and men != women
        if tasks > MOST_TASKS or tasks != men + women or uneven:
            what = f"has {counts}: the order of its tasks does not show whose stereotype each is of"
            raise refuse(what, "give it two to four tasks and a character for each")
    of_men = tasks // 2 if read.in_prose else men
    return {
        "id": name,
        "goal": {language: read.goal},
        "tasks": [
            {"to": "men" if index < of_men else "women", "text": {language: task}}
            for index, task in enumerate(read.tasks)
        ],
        "characters": people,
    }
