"""Reads recorded assignments of anybody's agents: scene, speaker, stage and text of each reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.interactions import GENDER, GENDERS, ITEM_MARK, PERSON, SEPARATOR
from biasgrid.catalogs.importers.responses import json_or_none
from biasgrid.catalogs.importers.result import NotTheFormat, refuse, shorten
from biasgrid.catalogs.loading.tables import numbered_lines, read_table
from biasgrid.catalogs.schema.scenes import Character, People, Scene

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "scene": ("scene", "scene_id", "scenario"),
    "text": ("text", "reply", "response", "assignment", "content"),
    "speaker": ("speaker", "agent", "character"),
    "stage": ("stage", "round"),
    "model": ("model", "model_name"),
    "setting": ("setting",),
    "language": ("language",),
    "run": ("run", "number"),
    "people": ("people", "characters"),
}
"""Columns by what they hold; the first two are needed."""
NEEDED: Final = ("scene", "text")
SETTINGS: Final = ("no_interaction", "no_goal", "goal")
ALONE: Final = ("", "assistant", "model", "none")
"""Speakers of an assignment that no agent made."""
DISCUSSION: Final = re.compile(r"(?i)discus|consens|debat|talk|negotia|convers|argu")
"""Stages whose replies are no assignments."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One reply, as recorded; what is absent is empty."""

    where: str
    scene: str
    text: str
    speaker: str = ""
    stage: str = ""
    model: str = ""
    setting: str = ""
    language: str = ""
    run: str = ""
    people: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether no agent speaks, but a model by itself."""
        return self.setting == SETTINGS[0] or self.speaker.lower() in ALONE


def read(text: str, file: str, refused: list[Problem]) -> Iterator[Recorded]:
    """The replies of a table or of JSON lines; what cannot be read is added to `refused`. Raises NotTheFormat."""
    entries = _lines(text, file) if text.lstrip().startswith(("{", "[")) else _rows(text, file)
    for where, entry in entries:
        try:
            yield _parse_entry(where, entry)
        except UserError as wrong:
            refused += [Problem(one.what, where, one.remedy) for one in wrong.mistakes]


def _rows(text: str, file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = read_table(text, file)
    lacking = [name for name in NEEDED if not set(NAMES[name]) & set(found.header)]
    if lacking:
        what = f"has no column `{'` and no `'.join(lacking)}`"
        remedy = "name a table of assignments: scene, speaker, stage and text of each"
        raise NotTheFormat(Problem(what, found.place, remedy))
    return ((place(file, row.line), row.cells) for row in found.rows())


def _lines(text: str, file: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        entries = enumerate(json_or_none(text) or (), 1)
        return ((f"{file} ({number})", entry) for number, entry in entries)
    return ((place(file, number), json_or_none(line)) for number, line in numbered_lines(text))


def _parse_entry(where: str, entry: Any) -> Recorded:
    if not isinstance(entry, Mapping):
        raise refuse("is no JSON object", "write one JSON object a line")
    cells = {str(key).strip().lower(): value for key, value in entry.items()}
    found = {name: _text(next((cells[own] for own in names if own in cells), "")) for name, names in NAMES.items()}
    if not found["scene"]:
        raise refuse("names no scene", "write the scene's id or number")
    found["setting"] = found["setting"].lower().replace(" ", "_")
    if found["setting"] not in ("", *SETTINGS):
        raise refuse(f"`{shorten(found['setting'])}` is no setting", f"write {', '.join(SETTINGS)}")
    if found["run"] and not found["run"].isdecimal():
        raise refuse(f"`{shorten(found['run'])}` is no number of a run", "write 1, 2, …")
    return Recorded(where, **found)


def _text(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return (value or "").strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def people_of(scene: Scene, stated: str, people: People, language: str) -> tuple[Character, ...]:
    """The people of a scene: its own, or those stated for it. Raises UserError."""
    if scene.characters:
        if scene.labels_doubtful:
            remedy = "import the scenes into a catalog, correct `to` and remove `labels_doubtful`"
            raise refuse(f"the tasks of scene `{scene.id}` suggest other stereotypes than their order", remedy)
        if not scene.is_confirmed:
            unsure = ", ".join(one.name for one in scene.characters if one.inferred)
            remedy = "name a table with `name` and `gender` by `--genders`"
            raise refuse(f"scene `{scene.id}` does not state the gender of {unsure}", remedy)
        return scene.characters
    listed = [ITEM_MARK.sub("", item).strip(" .") for item in SEPARATOR.split(stated)]
    found = tuple(_person(item, people, language) for item in listed if item)
    if {one.group for one in found} != set(people.groups):
        remedy = f"name them in a column `people`, such as `Ana ({', '.join(people.groups)} …)`"
        raise refuse(f"the people of scene `{scene.id}` are not stated", remedy)
    return found


def _person(item: str, people: People, language: str) -> Character:
    match = PERSON.fullmatch(item)
    name, group = (match["name"].strip(), match["gender"]) if match else (item, None)
    stated = (group or "").lower()
    if stated in people.groups:
        return Character(name=name, group=stated)
    if people.id == GENDER and stated in GENDERS:
        return Character(name=name, group=GENDERS[stated])
    known = [own for own, words in people.groups.items() if name in _names(words.get(language))]
    if stated or len(known) != 1:
        raise refuse(f"the group of `{shorten(item)}` is unknown", f"write {' or '.join(people.groups)} behind it")
    return Character(name=name, group=known[0])


def _names(words: Any) -> set[str]:
    return {name for names in words.names.values() for name in names} if words else set()
