"""Imports a published study of agents that share out tasks: scenes, and assignments for fine-tuning."""

# The order of tasks gives their labels: first as many tasks of men's stereotypes as there are men, then women's.
# A valid row has two to four tasks, as many characters, and for four tasks two of each group. Four tasks in prose
# are two of each group too, for as many men as women.

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.result import (
    Imported,
    NotTheFormat,
    checked,
    refusing_braces,
    shortened,
    sifted,
    slug,
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
from biasgrid.catalogs.importers.tables import Row, Table, table
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.given_names import GENDER, gender_of, genders
from biasgrid.catalogs.schema.scenes import Character, Scene

GENDERS: Final = {
    **dict.fromkeys(("male", "m", "man", "boy"), "men"),
    **dict.fromkeys(("female", "f", "woman", "girl"), "women"),
}
SEPARATOR: Final = re.compile(r"\s*(?:,|;|\n|&|\band\b)\s*")
ITEM_MARK: Final = re.compile(r"^(?:\d{1,2}[.)]|[-*•–])\s+")
PERSON: Final = re.compile(r"(?P<name>[^\W\d_][^()\[\]:]*?)(?:\s*[(\[]\s*(?P<told>[^()\[\]]*?)\s*[)\]])?")
LONGEST_NAME: Final = 3
"""Maximum number of words in a name."""


def characters(text: str, known: dict[str, str]) -> tuple[Character, ...]:
    """People of a list; `known` maps names to groups. Raises UserError with all people of unknown gender."""
    items = [ITEM_MARK.sub("", item).strip() for item in SEPARATOR.split(text.strip().rstrip("."))]
    found: list[Character] = []
    wrong: list[Problem] = []
    for item in filter(None, items):
        try:
            found.append(_character(item.rstrip(". "), known))
        except UserError as unread:
            wrong += unread.mistakes
    if wrong:
        raise UserError(wrong)
    return tuple(found)


def _character(item: str, known: dict[str, str]) -> Character:
    told = PERSON.fullmatch(item)
    if told is None or len(told["name"].split()) > LONGEST_NAME:
        raise UserError(Problem(f"`{shortened(item)}` is no name", remedy="name each once, commas between"))
    name, bracket = told["name"].strip(), told["told"]
    group = gender_of(name, known) if bracket is None else GENDERS.get(bracket.lower())
    if group is None and bracket is not None:
        raise UserError(Problem(f"`{shortened(item)}` tells no gender in its brackets", remedy="write (M) or (F)"))
    if group is None:
        raise UserError(Problem(f"nothing tells the gender of `{name}`", remedy="write (M) or (F) behind it"))
    return Character(name=name, group=group)


SITUATIONS: Final = ("scenarios",)
"""Columns of tables with goal, tasks and characters in one text per row."""
SCENES: Final = ("scene", "characters")
"""Columns of tables with goal and tasks in one text and the characters in another."""
TITLE: Final = "social task:"
TOLD: Final = "scene:"
MOST_TASKS: Final = 4


def read(text: str, file: str, language: str) -> Imported:
    """Scenes of a table, or assignments of JSON lines; raises NotTheFormat if it is neither."""
    if text.lstrip().startswith(("{", "[")):
        return _assignments(text, file, language)
    found = table(text, file)
    if not (set(SITUATIONS) <= set(found.header) or set(SCENES) <= set(found.header)):
        what = f"has no column `{SITUATIONS[0]}`, nor `{'` and `'.join(SCENES)}`"
        raise NotTheFormat(Problem(what, place(file, 1), "name a table of scenes, or JSON lines of messages"))
    return _scenes(found, file, language)


def _assignments(text: str, file: str, language: str) -> Imported:
    lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    numbered = ((number, NumberedLine(row, line)) for row, (number, line) in enumerate(lines))
    found = sifted(
        file, numbered, partial(whole_text, language=language), lambda one: one.text[language].casefold()
    )
    return Imported(file, found.rows, examples=found.made, refused=found.refused, lost=found.lost)


def _scenes(found: Table, file: str, language: str) -> Imported:
    known = genders(load_catalog().people.get(GENDER))
    made = partial(_scene, stem=slug(Path(file).stem), language=language, known=known)
    sorted_ = sifted(file, _numbered(found), made, lambda scene: _said(scene, language))
    return Imported(file, sorted_.rows, scenes=sorted_.made, refused=sorted_.refused, lost=sorted_.lost)


def _numbered(found: Table) -> Iterator[tuple[int, tuple[str, Row]]]:
    """Each row with its own number, or else its index from 0."""
    for count, row in enumerate(found.rows()):
        yield row.line, (row.text("") or str(count), row)


def _said(scene: Scene, language: str) -> str:
    """Text of a scene as a key for duplicates, without names."""
    return "; ".join([scene.goal[language], *(task.text[language] for task in scene.tasks)]).casefold()


def _scene(numbered: tuple[str, Row], *, stem: str, language: str, known: dict[str, str]) -> Scene:
    number, row = numbered
    try:
        told = scene_text(row.text(SITUATIONS[0])) if SITUATIONS[0] in row.cells else _beside(row)
        people = characters(told.people, known)
        refusing_braces(told.goal, *told.tasks)
        return checked(Scene, _fields(f"{stem}-{slug(number)}", told, people, language))
    except UserError as wrong:
        what = "; ".join(mistake.what for mistake in wrong.mistakes)
        raise UserError(Problem(f"row {shortened(number)}: {what}", remedy=wrong.mistakes[0].remedy)) from wrong


def _beside(row: Row) -> SceneText:
    """Scene of a row with a title, whose text contains the goal and the tasks, and a column of characters."""
    text = row.text("scene")
    if text.lower().count(TITLE) > 1 or text.lower().count(TOLD) > 1:
        raise UserError(Problem("holds more than one scene", remedy="give each scene a row of its own"))
    title, _, told = text.partition("\n") if text.lower().startswith(TITLE) else ("", "", text)
    named = one_line(title[len(TITLE) :])
    before, colon, listed = told.removeprefix("Scene:").rpartition(":")
    if not colon:
        return SceneText(named or one_line(told), prose_tasks(listed), row.text("characters"), in_prose=True)
    goal = one_line(before) or named
    return SceneText(goal, listed_tasks(listed.strip()), row.text("characters"))


def _fields(name: str, told: SceneText, people: tuple[Character, ...], language: str) -> dict[str, Any]:
    men = sum(character.group == "men" for character in people)
    women, tasks = len(people) - men, len(told.tasks)
    if not (told.in_prose and men == women <= tasks // 2 and men):
        _refuse_unlabelled(tasks, men, women)
    of_men = tasks // 2 if told.in_prose else men
    return {
        "id": name,
        "goal": {language: told.goal},
        "tasks": [
            {"to": "men" if index < of_men else "women", "text": {language: task}}
            for index, task in enumerate(told.tasks)
        ],
        "characters": people,
    }


def _refuse_unlabelled(tasks: int, men: int, women: int) -> None:
    """Raises UserError if the order of tasks does not determine their stereotypes."""
    told = f"{tasks} tasks, {men} men and {women} women"
    if not men or not women:
        raise UserError(Problem(f"has {told}: needs people of both groups", remedy="name both, or remove the row"))
    uneven = tasks == MOST_TASKS and men != women
    if tasks > MOST_TASKS or tasks != men + women or uneven:
        what = f"has {told}: the order of its tasks does not tell whose stereotype each is of"
        raise UserError(Problem(what, remedy="give it two to four tasks and a character for each"))
