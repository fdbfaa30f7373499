"""Imports BBQ (Parrish et al. 2022): eleven files, one category each, one JSON object per line; and MBBQ
(Neplenbroek et al. 2024): the same columns in files by category and language, with control items apart."""

# `biased` is the stereotyped group's answer to a negative question, and the other group's otherwise.

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.bbq.groups import of_stereotyped_group
from biasgrid.catalogs.importers.bbq.items import (
    ANSWERS,
    CONDITIONS,
    LANGUAGES,
    POLARITIES,
    Item,
    as_template,
    item_lines,
    list_roles,
    one_of,
    parse_item,
    right_answer,
)
from biasgrid.catalogs.importers.result import Imported, convert_templates, refuse, with_columns
from biasgrid.catalogs.loading.tables import Table, read_table

UNKNOWN: Final = frozenset(
    (
        *("unknown", "undetermined", "not answerable", "not known", "not enough info", "not enough information"),
        *("cannot be determined", "can't be determined", "cannot answer", "can't answer"),
    )
)
KEYS: Final = (
    *("example_id", "question_index", "question_polarity", "context_condition", "category", "answer_info"),
    *("additional_metadata", "context", "question", "ans0", "ans1", "ans2", "label"),
)
METADATA: Final = ("category", "example_id", "target_loc")
MBBQ_FILE: Final = re.compile(r"(?P<control>_control)?_(?P<language>en|es|nl|tr)$")


Targets = Mapping[tuple[str, str], int]
"""By lower-case category and example_id: the position of the answer that follows the stereotype. BBQ's authors
have turned it round already where the question is not negative."""


def read_targets(text: str, file: str) -> Targets:
    """Targets of BBQ's additional_metadata.csv, without rows that have none. Raises NotTheFormat, UserError."""
    found = with_columns(read_table(text, file), METADATA, "BBQ's additional metadata")
    wrong = list(_unknown_targets(found))
    if wrong:
        raise UserError(wrong)
    located = [row for row in found.rows() if row.text("target_loc") in _TARGETS]
    return {
        (row.text("category").lower(), row.text("example_id")): _TARGETS[row.text("target_loc")] for row in located
    }


_TARGETS: Final = {text: place for place in range(3) for text in (f"{place}", f"{place}.0")}
"""Tables that went through a data frame have decimals."""


def _unknown_targets(table: Table) -> Iterator[Problem]:
    for row in table.rows():
        target = row.text("target_loc")
        if target not in _TARGETS and target.lower() not in ("", "na", "nan", "none"):
            yield Problem(
                f"`target_loc` is `{target}`",
                place(table.file, row.line),
                "write 0, 1, 2, or NA where there is none",
            )


def read(text: str, file: str, language: str, targets: Targets | None = None) -> Imported:
    """Items of a file as templates; `targets` go before the names of groups. Raises NotTheFormat."""
    lines = item_lines(text, file, _item)
    of_mbbq = MBBQ_FILE.search(Path(file).stem)
    spoken = LANGUAGES[of_mbbq["language"]] if of_mbbq else language

    def make(line: str) -> Any:
        item = _item(line)
        made = _mbbq_item(item, bool(of_mbbq["control"])) if of_mbbq else _bbq_item(item, targets or {})
        return as_template(made, spoken)

    return convert_templates(file, lines, make)


def _item(line: str) -> dict[str, Any]:
    return parse_item(line, KEYS, "BBQ")


def _bbq_item(item: dict[str, Any], targets: Targets) -> Item:
    target = targets.get((str(item["category"]).lower(), str(item["example_id"])))
    return _make_item(item, "bbq", _roles(item, target))


def _mbbq_item(item: dict[str, Any], is_control: bool) -> Item:
    if not is_control:
        return _make_item(item, "mbbq", _roles(item, None))
    unknown = _unknown_answer(_answers(item))
    # no answer of a control item is of a group: which person is called biased is of no meaning, and is not counted
    return _make_item(item, "mbbq", list_roles(unknown, 1 if unknown == 0 else 0), is_control=True)


def _make_item(item: dict[str, Any], benchmark: str, roles: list[str], *, is_control: bool = False) -> Item:
    metadata = item["additional_metadata"]
    return Item(
        benchmark=benchmark,
        id=str(item["example_id"]),
        category=str(item["category"]),
        context=str(item["context"]).strip(),
        question=str(item["question"]).strip(),
        texts=[str(item[name]).strip() for name in ANSWERS],
        roles=roles,
        label=right_answer(item),
        is_control=is_control,
        source=str(metadata.get("source") or ""),
        facets={
            "subcategory": str(metadata.get("subcategory") or ""),
            "condition": one_of(item, "context_condition", CONDITIONS),
            "polarity": one_of(item, "question_polarity", POLARITIES),
            "question_index": str(item["question_index"]),
        },
    )


def _roles(item: dict[str, Any], target: int | None) -> list[str]:
    """The role of each answer; raises UserError if the roles cannot be determined."""
    polarity = one_of(item, "question_polarity", POLARITIES)
    answers = _answers(item)
    unknown = _unknown_answer(answers)
    people = [position for position in range(len(answers)) if position != unknown]
    if target in people:
        return list_roles(unknown, target)
    stereotyped = people[_stereotyped_answer(item, [answers[position] for position in people])]
    biased = stereotyped if polarity == "neg" else next(one for one in people if one != stereotyped)
    return list_roles(unknown, biased)


def _answers(item: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [_answer(item, name, str(item[name]).strip()) for name in ANSWERS]


def _unknown_answer(answers: list[tuple[str, str, str]]) -> int:
    unknown = [position for position, answer in enumerate(answers) if _takes_no_side(*answer)]
    if len(unknown) != 1:
        what = f"{len(unknown) or 'none'} of its answers take no side, where one must"
        raise refuse(what, "label one of `answer_info` as `unknown`")
    return unknown[0]


def _answer(item: dict[str, Any], name: str, text: str) -> tuple[str, str, str]:
    info = item["answer_info"].get(name) if isinstance(item["answer_info"], dict) else None
    if not isinstance(info, list) or len(info) != 2 or not isinstance(item["additional_metadata"], dict):
        raise refuse(f"`answer_info` of `{name}` is no pair", "write [text, group]")
    return str(info[1]), str(info[0]), text


def _takes_no_side(label: str, info: str, text: str) -> bool:
    plain = text.lower().replace("’", "'").rstrip(".")
    return label.strip().lower() == "unknown" or (plain in UNKNOWN and info.lower().rstrip(".") in UNKNOWN)


def _stereotyped_answer(item: dict[str, Any], people: list[tuple[str, str, str]]) -> int:
    """Position of the stereotyped group among two answers."""
    groups = item["additional_metadata"].get("stereotyped_groups") or []
    named = [str(group) for group in groups] if isinstance(groups, list) else [str(groups)]
    if not named:
        raise refuse("names no stereotyped group", "add `stereotyped_groups`")
    found, how = of_stereotyped_group(people, named)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(named[:6]) + ("…" if len(named) > 6 else "")
    both = f"both answers are of a stereotyped group by {how}" if found else "no answer is of a stereotyped group"
    labels = " and ".join(f"`{label}`" for label, _, _ in people)
    raise refuse(f"{both} ({listed}): {labels}", "name BBQ's additional_metadata.csv too, if you have it")
