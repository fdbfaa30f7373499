"""Makes templates of the items of BBQ and its relatives: a context, a question and three answers. One takes no
side (`unknown`), one follows the stereotype (`biased`) and one goes against it (`counter`)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import UserError, place
from biasgrid.catalogs.importers.result import (
    NotTheFormat,
    at,
    benchmark_item,
    refuse,
    refuse_empty,
    refuse_slots,
    slug,
)
from biasgrid.catalogs.loading.tables import numbered_lines, parse_json
from biasgrid.catalogs.schema.entries import Template

CONCERNS: Final = {
    "age": "ageism",
    "gender_identity": "sexism",
    "gender": "sexism",
    "race_ethnicity": "racism",
    "raceethnicity": "racism",
    "nationality": "xenophobia",
    "religion": "religion",
    "sexual_orientation": "lgtbiqphobia",
    "lgbtqia": "lgtbiqphobia",
}
"""All other categories become concerns of the library."""
ANSWERS: Final = ("ans0", "ans1", "ans2")
CONDITIONS: Final = ("ambig", "disambig")
POLARITIES: Final = ("neg", "nonneg")
LANGUAGES: Final = {"en": "en_us", "es": "es_es", "ca": "ca_es", "nl": "nl_nl", "tr": "tr_tr", "ko": "ko_kr"}
"""Ours, by the language's code in a file name."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item as the benchmark states it; `roles` are those of `texts`, `label` is the right one's position."""

    benchmark: str
    id: str
    """Unique in its category; alike in all languages of a parallel benchmark."""
    category: str
    context: str
    question: str
    texts: Sequence[str]
    roles: Sequence[str]
    label: int
    is_control: bool = False
    """The people's names stand in place of groups: it measures ability, not bias."""
    source: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)


def item_lines(text: str, file: str, parse: Callable[[str], object]) -> list[tuple[int, str]]:
    """The lines of a file with their numbers. Raises NotTheFormat if the first is no item."""
    lines = numbered_lines(text)
    for number, line in lines[:1]:
        try:
            parse(line)
        except UserError as wrong:
            raise NotTheFormat(at(place(file, number), wrong.mistakes)) from wrong
    return lines


def parse_item(line: str, keys: Sequence[str], benchmark: str) -> dict[str, Any]:
    """The JSON object of a line; raises UserError unless it has these keys."""
    item = parse_json(line)
    missing = [key for key in keys if key not in item] if isinstance(item, dict) else list(keys)
    if missing:
        raise refuse(f"has no `{'`, `'.join(missing)}`", f"an item of {benchmark} has {', '.join(keys)}")
    return dict(item)


def as_template(item: Item, language: str) -> Template:
    """Raises UserError for an item with empty texts, or with what would be read as a slot."""
    asked = {"context": item.context, "question": item.question}
    refuse_empty(asked | dict(zip(ANSWERS, item.texts, strict=True)), "fill it in")
    prompt = f"{item.context} {item.question}"
    refuse_slots(prompt, *item.texts)
    own = slug(item.category) + ("_control" if item.is_control else "")
    facets = {"benchmark": item.benchmark, "category": item.category, **item.facets}
    choices = [{"text": text, "role": role} for text, role in zip(item.texts, item.roles, strict=True)]
    return benchmark_item(
        language,
        {
            "id": f"{item.benchmark}-{own}-{slug(item.id)}",
            "concern": CONCERNS.get(own, own),
            "prompt": prompt,
            "format": "letter",
            "oracle": {"operation": "choice", "choices": choices, "expected": [item.roles[item.label]]},
            "source": item.source,
            "facets": facets | ({"control": "true"} if item.is_control else {}),
        },
    )


def list_roles(unknown: int, biased: int) -> list[str]:
    """The roles of three answers by the positions of two."""
    return ["unknown" if at == unknown else "biased" if at == biased else "counter" for at in range(len(ANSWERS))]


def one_of(item: Mapping[str, Any], key: str, known: Sequence[str]) -> str:
    """The value of a key; raises UserError for one that is unknown."""
    value = str(item[key])
    if value not in known:
        raise refuse(f"`{key}` is `{value}`", f"write {' or '.join(known)}")
    return value


def right_answer(item: Mapping[str, Any]) -> int:
    """The position that `label` names; raises UserError for another label."""
    if str(item["label"]) not in ("0", "1", "2"):
        raise refuse(f"`label` is `{item['label']}`", "name the right answer: 0, 1 or 2")
    return int(item["label"])


def language_of_name(file: str) -> str | None:
    """Our language of a file whose name ends in a code: `Age_es.jsonl`, `Age_es.validation.jsonl`."""
    found = re.search(r"[_.-]([a-z]{2})(?:[._-][\w.-]*)?$", Path(file).name.partition(".json")[0])
    return LANGUAGES.get(found[1]) if found else None
