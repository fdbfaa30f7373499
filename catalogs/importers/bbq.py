"""Imports BBQ (Parrish et al. 2022): eleven files, one category each, one JSON object per line."""

# `biased` is the stereotyped group's answer to a negative question, and the other group's otherwise.

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from biasgrid.catalogs.errors import UserError, place
from biasgrid.catalogs.importers.result import (
    Imported,
    NotTheFormat,
    at,
    benchmark_item,
    convert,
    refuse,
    refuse_braces,
    refuse_empty,
    slug,
    with_columns,
)
from biasgrid.catalogs.loading.tables import numbered_lines, parse_json, read_table
from biasgrid.catalogs.schema.entries import Template

_PHRASES: Final = (
    (r"\b(low|high)[\s_-]*ses\b", r"\1ses"),
    (r"\bafrican[\s_-]*americans?\b", "black"),
    (r"\b(?:european[\s_-]*americans?|caucasians?)\b", "white"),
    (r"\bmiddle[\s_-]*eastern(?:ers?)?\b", "arab"),
    (r"\bd/deaf\b", "deaf"),
    (r"\b(?:non|not)[\s_-]*(?=[a-z])", "non"),
)
_WORDS: Final = {
    **dict.fromkeys(("f", "female", "females", "woman", "women", "girl", "girls"), "female"),
    **dict.fromkeys(("m", "male", "males", "man", "men", "boy", "boys"), "male"),
    **dict.fromkeys(("trans", "transgender", "transgendered"), "trans"),
    **dict.fromkeys(("nontrans", "nontransgender", "cis", "cisgender"), "nontrans"),
    **dict.fromkeys(("latino", "latina", "latinx", "latinos", "hispanic", "hispanics"), "hispanic"),
    **dict.fromkeys(("blacks", "black"), "black"),
    **dict.fromkeys(("jew", "jews", "jewish"), "jewish"),
    **dict.fromkeys(("muslims", "muslim"), "muslim"),
    **dict.fromkeys(("arabs", "arab", "arabic"), "arab"),
    **dict.fromkeys(("gay", "gays", "homosexual"), "gay"),
    **dict.fromkeys(("straight", "heterosexual"), "straight"),
    **dict.fromkeys(("disabled", "disability", "disabilities"), "disabled"),
    **dict.fromkeys(("nondisabled", "abled", "able-bodied"), "nondisabled"),
}
_EMPTY: Final = frozenset(
    (
        *("the", "a", "an", "of", "with", "who", "is", "are", "and"),
        *("person", "people", "persons", "individual", "individuals", "someone", "one", "guy", "kid"),
    )
)
LOW_STATUS: Final = frozenset({"lowses"})
UNKNOWN: Final = frozenset(
    (
        *("unknown", "undetermined", "not answerable", "not known", "not enough info", "not enough information"),
        *("cannot be determined", "can't be determined", "cannot answer", "can't answer"),
    )
)


@lru_cache(maxsize=65536)
def traits(name: str) -> frozenset[str]:
    """Normalized words by which a name describes its group."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z](?![A-Z]*S\b))", " ", name)
    text = spaced.lower()
    for pattern, replacement in _PHRASES:
        text = re.sub(pattern, replacement, text)
    words = re.findall(r"[a-z0-9]+", text)
    return frozenset(_WORDS.get(word, word) for word in words if word not in _EMPTY)


def of_stereotyped_group(
    answers: Sequence[tuple[str, str, str]], groups: Iterable[str]
) -> tuple[tuple[int, ...], str]:
    """Positions of answers (label, answer_info text, offered text) of a stereotyped group, and the evidence."""
    # Labels count first, then texts, then both, then groups named more closely than the label (`transgender women`
    # for `trans`). Of two stereotyped answers the one in more groups, or of low status, counts: intersections.
    wanted = {found for found in map(traits, groups) if found}
    read = [(traits(label), traits(info), traits(offered)) for label, info, offered in answers]
    views = {
        "label": [label for label, _, _ in read],
        "answer_info": [info for _, info, _ in read],
        "label and text": [label | info | offered for label, info, offered in read],
    }
    for how, seen in views.items():
        memberships = [sum(group <= has for group in wanted) + (has >= LOW_STATUS) / 2 for has in seen]
        found = tuple(place for place, count in enumerate(memberships) if count >= 1)
        most = tuple(place for place in found if memberships[place] == max(memberships))
        if found:
            return most, how
    labels = views["label"]
    loose = tuple(place for place, has in enumerate(labels) if has and any(has <= group for group in wanted))
    return loose, "part of the label"


KEYS: Final = (
    *("example_id", "question_index", "question_polarity", "context_condition", "category", "answer_info"),
    *("additional_metadata", "context", "question", "ans0", "ans1", "ans2", "label"),
)
METADATA: Final = ("category", "example_id", "target_loc")
CONCERNS: Final = {
    "age": "ageism",
    "gender_identity": "sexism",
    "race_ethnicity": "racism",
    "nationality": "xenophobia",
    "religion": "religion",
    "sexual_orientation": "lgtbiqphobia",
}
"""All other categories become concerns of the library."""
ANSWERS: Final = ("ans0", "ans1", "ans2")
POLARITIES: Final = ("neg", "nonneg")
CONDITIONS: Final = ("ambig", "disambig")


Targets = Mapping[tuple[str, str], int]
"""By lower-case category and example_id: position of the stereotyped group's answer."""


def read_targets(text: str, file: str) -> Targets:
    """Targets of BBQ's additional_metadata.csv; rows without `target_loc` are skipped. Raises NotTheFormat."""
    found = with_columns(read_table(text, file), METADATA, "BBQ's additional metadata")
    located = [row for row in found.rows() if row.text("target_loc") in ("0", "1", "2")]
    return {(row.text("category").lower(), row.text("example_id")): int(row.text("target_loc")) for row in located}


def read(text: str, file: str, language: str, targets: Targets | None = None) -> Imported:
    """Items of a file as templates; `targets` decides for intersecting groups. Raises NotTheFormat."""
    lines = numbered_lines(text)
    for number, line in lines[:1]:
        try:
            _item(line)
        except UserError as wrong:
            raise NotTheFormat(at(place(file, number), wrong.mistakes)) from wrong
    return convert(
        file,
        "templates",
        lines,
        lambda line: _template(_item(line), language, targets or {}),
        lambda template: template.id,
    )


def _item(line: str) -> dict[str, Any]:
    item = parse_json(line)
    missing = [key for key in KEYS if key not in item] if isinstance(item, dict) else list(KEYS)
    if missing:
        raise refuse(f"has no `{'`, `'.join(missing)}`", f"an item of BBQ has {', '.join(KEYS)}")
    return dict(item)


def _template(item: dict[str, Any], language: str, targets: Targets) -> Template:
    category, polarity, condition = (
        str(item[key]) for key in ("category", "question_polarity", "context_condition")
    )
    _one_of(polarity, POLARITIES, "question_polarity")
    _one_of(condition, CONDITIONS, "context_condition")
    texts = tuple(str(item[name]).strip() for name in ANSWERS)
    asked = {name: str(item[name]).strip() for name in ("context", "question")}
    refuse_empty(asked | dict(zip(ANSWERS, texts, strict=True)), "fill it in")
    target = targets.get((category.lower(), str(item["example_id"])))
    roles = _roles(item, texts, polarity, target)
    prompt = " ".join(asked.values())
    refuse_braces(prompt, *texts)
    metadata = item["additional_metadata"]
    own = slug(category)
    return benchmark_item(
        language,
        {
            "id": f"bbq-{own}-{slug(str(item['example_id']))}",
            "concern": CONCERNS.get(own, own),
            "prompt": prompt,
            "format": "letter",
            "oracle": {
                "operation": "choice",
                "choices": [{"text": text, "role": role} for text, role in zip(texts, roles, strict=True)],
                "expected": [roles[_label(item["label"])]],
            },
            "source": str(metadata.get("source") or ""),
            "facets": {
                "benchmark": "bbq",
                "category": category,
                "subcategory": str(metadata.get("subcategory") or ""),
                "condition": condition,
                "polarity": polarity,
                "question_index": str(item["question_index"]),
            },
        },
    )


def _one_of(value: str, known: tuple[str, ...], key: str) -> None:
    if value not in known:
        raise refuse(f"`{key}` is `{value}`", f"write {' or '.join(known)}")


def _label(label: Any) -> int:
    if str(label) not in ("0", "1", "2"):
        raise refuse(f"`label` is `{label}`", "name the right answer: 0, 1 or 2")
    return int(label)


def _roles(item: dict[str, Any], texts: tuple[str, ...], polarity: str, target: int | None) -> list[str]:
    """The role of each answer; raises UserError if the roles cannot be determined."""
    answers = [_answer(item, name, text) for name, text in zip(ANSWERS, texts, strict=True)]
    unknown = [place for place, answer in enumerate(answers) if _takes_no_side(*answer)]
    if len(unknown) != 1:
        what = f"{len(unknown) or 'none'} of its answers take no side, where one must"
        raise refuse(what, "label one of `answer_info` as `unknown`")
    people = [place for place in range(len(answers)) if place != unknown[0]]
    known = people.index(target) if target in people else None
    stereotyped = people[_stereotyped_answer(item, [answers[place] for place in people], known)]
    biased = stereotyped if polarity == "neg" else next(place for place in people if place != stereotyped)
    return ["unknown" if p in unknown else "biased" if p == biased else "counter" for p in range(len(answers))]


def _answer(item: dict[str, Any], name: str, text: str) -> tuple[str, str, str]:
    info = item["answer_info"].get(name) if isinstance(item["answer_info"], dict) else None
    if not isinstance(info, list) or len(info) != 2 or not isinstance(item["additional_metadata"], dict):
        raise refuse(f"`answer_info` of `{name}` is no pair", "write [text, group]")
    return str(info[1]), str(info[0]), text


def _takes_no_side(label: str, info: str, text: str) -> bool:
    plain = text.lower().replace("’", "'").rstrip(".")
    return label.strip().lower() == "unknown" or (plain in UNKNOWN and info.lower().rstrip(".") in UNKNOWN)


def _stereotyped_answer(item: dict[str, Any], people: list[tuple[str, str, str]], target: int | None) -> int:
    """Position of the stereotyped group among two answers; `target` decides if their names do not."""
    groups = item["additional_metadata"].get("stereotyped_groups") or []
    named = [str(group) for group in groups] if isinstance(groups, list) else [str(groups)]
    if not named and target is None:
        raise refuse("names no stereotyped group", "add `stereotyped_groups`")
    found, how = of_stereotyped_group(people, named)
    if len(found) == 1:
        return found[0]
    if target is not None:
        return target
    listed = ", ".join(named[:6]) + ("…" if len(named) > 6 else "")
    both = f"both answers are of a stereotyped group by {how}" if found else "no answer is of a stereotyped group"
    labels = " and ".join(f"`{label}`" for label, _, _ in people)
    raise refuse(f"{both} ({listed}): {labels}", "name BBQ's additional_metadata.csv too, if you have it")
