"""Imports EsBBQ and CaBBQ (Ruiz-Fernández et al. 2025): Spanish and Catalan items, parallel by `instance_id`."""

from typing import Any, Final

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.importers.bbq.items import (
    ANSWERS,
    CONDITIONS,
    POLARITIES,
    Item,
    as_template,
    item_lines,
    language_of_name,
    list_roles,
    one_of,
    parse_item,
    right_answer,
)
from biasgrid.catalogs.importers.result import Imported, NotTheFormat, convert_templates, refuse

KEYS: Final = (
    *("instance_id", "template_id", "question_polarity", "context_condition", "category", "stereotyped_groups"),
    *("answer_info", "context", "question", "ans0", "ans1", "ans2", "question_type", "label"),
)
UNKNOWN: Final = {
    "es_es": ("No se sabe.", "No se puede saber.", "No hay datos suficientes.", "El texto no lo dice."),
    "ca_es": ("No se sap.", "No es pot saber.", "No hi ha prou dades.", "El text no ho diu."),
}
"""The files leave the answer that takes no side as `unknown`, for the asker to word: items take turns."""
FOLLOWS: Final = {"pro-stereo": True, "anti-stereo": False}
"""Whether the right answer of a clear context follows the stereotype, by `question_type`."""


def read(text: str, file: str, language: str) -> Imported:
    """Items of a file as templates, whose language is in its name or given. Raises NotTheFormat."""
    lines = item_lines(text, file, _parse)
    spoken = language_of_name(file) or language
    if spoken not in UNKNOWN:
        what = f"its name ends in no language, and `{language}` is neither Spanish nor Catalan"
        raise NotTheFormat(Problem(what, file, "add `--language es_es` or `--language ca_es`"))
    return convert_templates(file, lines, lambda line: as_template(_item(_parse(line), UNKNOWN[spoken]), spoken))


def _parse(line: str) -> dict[str, Any]:
    return parse_item(line, KEYS, "EsBBQ or CaBBQ")


def _item(item: dict[str, Any], wordings: tuple[str, ...]) -> Item:
    number = str(item["instance_id"])
    wording = wordings[int(number) % len(wordings)] if number.isdecimal() else wordings[0]
    texts = [str(item[name]).strip() for name in ANSWERS]
    return Item(
        benchmark="esbbq",
        id=number,
        category=str(item["category"]),
        context=str(item["context"]).strip(),
        question=str(item["question"]).strip(),
        texts=[wording if text.lower() == "unknown" else text for text in texts],
        roles=_roles(item),
        label=right_answer(item),
        facets={
            "subcategory": str(item.get("subcategory") or ""),
            "condition": one_of(item, "context_condition", CONDITIONS),
            "polarity": one_of(item, "question_polarity", POLARITIES),
            "question_index": str(item["template_id"]),
        },
    )


def _roles(item: dict[str, Any]) -> list[str]:
    """The role of each answer; raises UserError if the roles cannot be determined."""
    groups = [_group(item, name) for name in ANSWERS]
    unknown = [position for position, group in enumerate(groups) if group == "unknown"]
    if len(unknown) != 1:
        raise refuse(f"{len(unknown)} of its answers are `unknown`, where one must be", "correct `answer_info`")
    people = [position for position in range(len(groups)) if position != unknown[0]]
    stereotyped = [position for position in people if groups[position] in _stereotyped_groups(item)]
    if len(stereotyped) != 1:
        return list_roles(unknown[0], _biased_by_type(item, people, [groups[one] for one in people]))
    is_negative = one_of(item, "question_polarity", POLARITIES) == "neg"
    biased = stereotyped[0] if is_negative else next(one for one in people if one not in stereotyped)
    return list_roles(unknown[0], biased)


def _stereotyped_groups(item: dict[str, Any]) -> list[str]:
    groups = item["stereotyped_groups"]
    return [str(group) for group in groups] if isinstance(groups, list) else [str(groups)]


def _group(item: dict[str, Any], name: str) -> str:
    info = item["answer_info"].get(name) if isinstance(item["answer_info"], dict) else None
    if not isinstance(info, list) or not info:
        raise refuse(f"`answer_info` of `{name}` is no list", "write [text, group]")
    return str(info[-1])


def _biased_by_type(item: dict[str, Any], people: list[int], groups: list[str]) -> int:
    """The biased answer of a clear context whose groups leave it open; raises UserError otherwise."""
    follows, label = FOLLOWS.get(str(item["question_type"])), right_answer(item)
    if follows is None or label not in people:
        named = " and ".join(f"`{group}`" for group in groups)
        what = f"both or none of its answers are of a stereotyped group: {named}"
        raise refuse(what, "correct `stereotyped_groups`")
    return label if follows else next(one for one in people if one != label)
