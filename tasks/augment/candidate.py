"""Turns an object that a model wrote into an entry of a template or scene file, or into its errors."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.language.language_rules import NAMES, foreign_tongue
from biasgrid.catalogs.schema.augmentation import AskedFormat
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.catalogs.text_safety import excerpt, first_invisible
from biasgrid.catalogs.wording import SLOT, slots
from biasgrid.tasks.augment.order import Order, Part, SceneOrder
from biasgrid.tasks.augment.prompts import usable_formats
from biasgrid.tasks.connectors.generator import explain_all, parse_entry
from biasgrid.tasks.connectors.json_objects import RejectedText

MOST_PARAPHRASES = 4
SHORTEST, LONGEST = 15, 600
"""Minimum and maximum characters of a prompt."""
SHORTEST_TASK = 5
"""Minimum characters of a task."""
BRACES = re.compile(r"\{[^{}]*\}|[{}]")
Forms = Mapping[str, Mapping[str, tuple[str, ...]]]


class Exact(BaseModel):
    """An object with these keys, of these types, and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WrittenTemplate(Exact):
    """A template as a model is asked to write it."""

    input: InputType
    reflection: Reflection
    format: str
    oracle: str
    prompt: str
    paraphrases: tuple[str, ...] = Field(default=(), max_length=MOST_PARAPHRASES)
    twin: bool = False
    reverse_keyed: bool | None = None

    @field_validator("prompt", "paraphrases")
    @classmethod
    def _compose(cls, given: Any) -> Any:
        """Letters and their accents joined, as templates have them."""
        normal = unicodedata.normalize
        return normal("NFC", given) if isinstance(given, str) else tuple(normal("NFC", text) for text in given)


class WrittenTask(Exact):
    to: str
    text: str


class WrittenScene(Exact):
    """A scene as a model is asked to write it."""

    goal: str
    tasks: tuple[WrittenTask, ...]
    cast: dict[str, Annotated[int, Field(ge=1)]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry for review: the original object, and its entry without an id."""

    text: str
    entry: Mapping[str, Any]


def read_candidate(given: Mapping[str, Any], order: Order | SceneOrder, part: Part) -> Candidate | RejectedText:
    """The entry for an object of a reply, or all its errors."""
    text = json.dumps(given, ensure_ascii=False)
    if isinstance(order, SceneOrder):
        scene = parse_entry(text, WrittenScene)
        if isinstance(scene, RejectedText):
            return scene
        entry = _scene_entry(scene, order)
        wrong = [*_scene_errors(scene, order), *_shape_errors(entry)]
        return RejectedText(text, "; ".join(wrong)) if wrong else Candidate(text, entry)
    template = parse_entry(text, WrittenTemplate)
    if isinstance(template, RejectedText):
        return template
    wrong = list(_template_errors(template, order, part))
    return RejectedText(text, "; ".join(wrong)) if wrong else Candidate(text, _template_entry(template, order))


def _template_errors(written: WrittenTemplate, order: Order, part: Part) -> Iterator[str]:
    known = usable_formats(order, part)
    asked = known.get(written.format)
    if (written.input, written.reflection) not in part.shares:
        yield f"is {written.input} · {written.reflection}, which was not asked for"
    if asked is None:
        yield f"names the unknown format `{excerpt(written.format, 40)}`, {nearest(written.format, known)}"
    else:
        yield from _format_errors(written, asked, order)
    for number, text in enumerate((written.prompt, *written.paraphrases)):
        where = f"paraphrase {number}" if number else "the prompt"
        yield from (f"{where} {error}" for error in _text_errors(text, order.forms))
        yield from (f"{where} {error}" for error in _language_errors(text, order))
    yield from _paraphrase_errors(written)


def _format_errors(written: WrittenTemplate, asked: AskedFormat, order: Order) -> Iterator[str]:
    """Errors for a format or an oracle that does not fit the template."""
    if asked.input != written.input:
        yield f"is {written.input}, and format `{written.format}` is for {asked.input} ones"
    oracle = order.language.oracles.get(written.oracle)
    if oracle is None or written.oracle not in asked.oracles:
        named = f"oracle `{excerpt(written.oracle, 40)}`"
        going = ", ".join(f"`{name}`" for name in asked.oracles)
        yield f"{named} does not go with format `{written.format}`, which takes {going}"
        return
    agrees = written.oracle in order.wording.reverse_keyed
    if written.reverse_keyed not in (None, agrees):
        yield f"`reverse_keyed` contradicts oracle `{written.oracle}`"
    named_slots = len(slots(written.prompt))
    if asked.pair and named_slots != 2:
        yield f"format `{written.format}` chooses between two communities, and the prompt names {named_slots}"
    if oracle.type == "same value" and named_slots != 1:
        yield f"format `{written.format}` compares one community's numbers, and the prompt names {named_slots}"
    if oracle.type == "same value" and written.paraphrases:
        yield "a question that asks for a number has no paraphrases"


def _paraphrase_errors(written: WrittenTemplate) -> Iterator[str]:
    named = slots(written.prompt)
    if written.paraphrases and len(named) > 1:
        yield "a question about two communities has no paraphrases"
    for number, text in enumerate(written.paraphrases, 1):
        if slots(text) != named:
            yield f"paraphrase {number} has other placeholders than the prompt"
    if len({written.prompt, *written.paraphrases}) <= len(written.paraphrases):
        yield "has the same wording twice"


def _template_entry(written: WrittenTemplate, order: Order) -> dict[str, Any]:
    """The entry's keys in the order of our template files."""
    asked = order.wording.formats[written.format]
    twin = {"format": asked.twin, "oracle": asked.twin_oracle} if written.twin and asked.twin else None
    keys: dict[str, Any] = {
        "input": written.input,
        "reflection": written.reflection,
        "prefix": order.wording.statement if asked.statement else None,
        "prompt": written.prompt,
        "paraphrases": list(written.paraphrases) or None,
        "format": written.format,
        "oracle": written.oracle,
        "reverse_keyed": True if written.oracle in order.wording.reverse_keyed else None,
        "twin": {key: value for key, value in twin.items() if value} if twin else None,
    }
    return {key: value for key, value in keys.items() if value is not None}


def _scene_errors(written: WrittenScene, order: SceneOrder) -> Iterator[str]:
    labels = Counter(task.to for task in written.tasks)
    strange = sorted({*labels, *written.cast} - set(order.groups))
    if strange:
        named = ", ".join(f"`{excerpt(name, 40)}`" for name in strange)
        yield f"names {named}, no group of axis `{order.axis}`"
    elif dict(labels) != written.cast:
        yield "has other numbers of people than of tasks with their group's label"
    for number, text in enumerate((written.goal, *(task.text for task in written.tasks))):
        where, shortest = (f"task {number}", SHORTEST_TASK) if number else ("the goal", SHORTEST)
        yield from (f"{where} {error}" for error in _text_errors(text, {}, shortest))
    yield from _language_errors(" ".join(task.text for task in written.tasks), order)


def _shape_errors(entry: Mapping[str, Any]) -> Iterator[str]:
    """Errors by the scene's own rules; an invalid scene would make its whole file unreadable."""
    try:
        Scene.model_validate({"id": "new", **entry})
    except ValidationError as error:
        yield from explain_all(error)


def _scene_entry(written: WrittenScene, order: SceneOrder) -> dict[str, Any]:
    language = order.language.id
    return {
        "axis": order.axis,
        "goal": {language: written.goal},
        "tasks": [{"to": task.to, "text": {language: task.text}} for task in written.tasks],
        "cast": dict(written.cast),
    }


def _language_errors(text: str, order: Order | SceneOrder) -> Iterator[str]:
    other = foreign_tongue(text, order.language.id.partition("_")[0])
    if other is not None:
        yield f"is {NAMES.get(other, other)}, not {order.language.name}"


def _text_errors(text: str, forms: Forms, shortest: int = SHORTEST) -> Iterator[str]:
    """All reasons why a text cannot be used; `forms` are the known ones by markup."""
    unseen = first_invisible(text)
    if unseen is not None:
        yield f"holds the control or invisible character `{unseen}`"
    if not shortest <= len(text) <= LONGEST:
        yield f"has {len(text)} characters, not {shortest} to {LONGEST}"
    if text != text.strip():
        yield "begins or ends with a blank"
    for placeholder in sorted({match[0] for match in BRACES.finditer(text)}):
        yield from _placeholder_errors(placeholder, forms)
    numbers = {match["number"] for match in SLOT.finditer(text)}
    if numbers not in (set(), {""}, {"1", "2"}):
        yield "numbers its placeholders otherwise than none, or 1 and 2"
    for markup in forms:
        if re.search(rf"(?<![\w{{]){re.escape(markup)}\d*\b", BRACES.sub(" ", text)):
            yield f"holds `{markup}` without braces"


def _placeholder_errors(written: str, forms: Forms) -> Iterator[str]:
    slot = SLOT.fullmatch(written)
    quoted = f"`{excerpt(written, 60)}`"
    if slot is None:
        yield f"holds {quoted}, which is no placeholder"
    elif slot["markup"] not in forms:
        yield f"holds {quoted}, an unknown markup"
    elif slot["form"] is None:
        yield f"holds {quoted} without a form"
    # any other capitals would be sent as lower case
    elif slot["form"].lower() not in forms[slot["markup"]] or slot["form"][1:] != slot["form"][1:].lower():
        yield f"holds {quoted}: the communities have no such form"
