"""Turns an object that a model wrote into an entry of a template file, or into the reasons why it is invalid."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.language.language_rules import NAMES, foreign_tongue
from biasgrid.catalogs.loading.pydantic_errors import explain, follows
from biasgrid.catalogs.schema.augmentation import AskedFormat
from biasgrid.catalogs.schema.entries import InputType, Reflection
from biasgrid.catalogs.schema.wording import slots
from biasgrid.catalogs.text_safety import excerpt, storable
from biasgrid.tasks.augment.order import Order, Part
from biasgrid.tasks.augment.prompts import usable
from biasgrid.tasks.augment.texts import troubles
from biasgrid.tasks.connectors.json_objects import RejectedText

MOST_PARAPHRASES = 4
Shape = TypeVar("Shape", bound=BaseModel)


class Written(BaseModel):
    """A template as a model is asked to write it: these keys, of these types, and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

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
    def _composed(cls, given: Any) -> Any:
        """Letters and their accents joined, as templates have them."""
        normal = unicodedata.normalize
        return normal("NFC", given) if isinstance(given, str) else tuple(normal("NFC", text) for text in given)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template for review: the original object, and its entry without an id."""

    text: str
    entry: Mapping[str, Any]


def candidate(given: Mapping[str, Any], order: Order, part: Part) -> Candidate | RejectedText:
    """The entry for an object of a reply, or all its errors."""
    read = parsed(given, Written)
    if isinstance(read, RejectedText):
        return read
    text, written = read
    wrong = list(_wrong(written, order, part))
    if wrong:
        return RejectedText(text, "; ".join(wrong))
    return Candidate(text, _entry(written, order))


def parsed(given: Mapping[str, Any], kind: type[Shape]) -> tuple[str, Shape] | RejectedText:
    """An object of a reply as text and read strictly, or all errors of its shape."""
    raw = json.dumps(given, ensure_ascii=False)
    text = storable(raw)
    if text != raw:
        return RejectedText(text, "holds half of a character")
    try:
        return text, kind.model_validate_json(raw)
    except ValidationError as error:
        return RejectedText(text, "; ".join(misfits(error)))


def misfits(error: ValidationError) -> Iterator[str]:
    problems = error.errors()
    for problem in problems:
        if not follows(problem, [other["loc"] for other in problems]):
            name = ".".join(str(place) for place in problem["loc"])
            yield excerpt(explain(problem, f"`{name}`" if name else "the object"))


def _wrong(written: Written, order: Order, part: Part) -> Iterator[str]:
    known = usable(order, part)
    asked = known.get(written.format)
    if (written.input, written.reflection) not in part.shares:
        yield f"is {written.input} · {written.reflection}, which was not asked for"
    if asked is None:
        yield f"names the unknown format `{excerpt(written.format, 40)}`, {nearest(written.format, known)}"
    else:
        yield from _misused(written, asked, order)
    for number, text in enumerate((written.prompt, *written.paraphrases)):
        where = f"paraphrase {number}" if number else "the prompt"
        yield from (f"{where} {trouble}" for trouble in troubles(text, order.forms))
        other = foreign_tongue(text, order.language.id.partition("_")[0])
        if other is not None:
            yield f"{where} is {NAMES.get(other, other)}, not {order.language.name}"
    yield from _paraphrased(written)


def _misused(written: Written, asked: AskedFormat, order: Order) -> Iterator[str]:
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


def _paraphrased(written: Written) -> Iterator[str]:
    named = slots(written.prompt)
    if written.paraphrases and len(named) > 1:
        yield "a question about two communities has no paraphrases"
    for number, text in enumerate(written.paraphrases, 1):
        if slots(text) != named:
            yield f"paraphrase {number} has other placeholders than the prompt"
    if len({written.prompt, *written.paraphrases}) <= len(written.paraphrases):
        yield "says the same wording twice"


def _entry(written: Written, order: Order) -> dict[str, Any]:
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
