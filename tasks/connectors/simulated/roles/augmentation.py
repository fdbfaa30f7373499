"""Templates, scenes and stereotypes that a respondent writes, so that augmentation runs without an API key."""

# They are plausible, simple and the same for the same request and seed.

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import AttributePair, ProbeAxis, every_pair
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.fault_injection import Chance
from biasgrid.tasks.connectors.simulated.repertoire import load_texts

ORDER = re.compile(r"^\{\"order\": \"(?:templates|scenes|stereotypes)\".*\}\s*\Z", re.MULTILINE)
"""The last line of a request, a JSON object that states what is requested."""
Row = dict[str, Any]
Order = Mapping[str, Any]
MOST = 50
CASTS = ((2, 2), (2, 1), (1, 2), (2, 2))
LONGEST_WHY = 300
OFFERED = {
    "denied": ("yes_no", "no_yes"),
    "affirmed": ("no_yes", "yes_no"),
    "disagreed": ("agree_disagree", "disagree_agree"),
    "agreed": ("disagree_agree", "agree_disagree"),
}
"""Formats of constrained questions, used in turn; the order of the answers is balanced."""
VERBOSE = {"denied": "reason", "affirmed": "reason", "disagreed": "agree_explained", "agreed": "agree_explained"}


def augmentation_reply(respondent: Respondent, text: str, seed: int | None, catalog: Catalog) -> str | None:
    """A JSON array of the requested rows; None without a request, or if the respondent never complies."""
    found = ORDER.search(text)
    if found is None or respondent.answers != "by-rate":
        return None
    rows = _write_rows(found[0], Chance(respondent.id, respondent.seed, text, seed), catalog)
    if rows is None:
        return None
    listed = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
    return f"Sure, here they are:\n\n```json\n{listed}\n```" if respondent.noise == "messy" else listed


def _write_rows(line: str, chance: Chance, catalog: Catalog) -> Iterable[Row] | None:
    """Rows of an order; None if it is incomplete, as clients may send one, or its language has no texts."""
    try:
        order = json.loads(line)
        language = str(order["language"])
        if order["order"] == "stereotypes":
            return _write_stereotypes(order, chance, catalog)
        texts = load_texts(order["order"], language)
        if texts is None:
            return None
        if order["order"] == "scenes":
            return _write_scenes(order, texts, chance)
        shares = order["questions"].items()
        whole = all(len(kind.split()) == 2 and isinstance(count, int) for kind, count in shares)
        return list(_write_templates(order, texts, chance, catalog)) if whole and "concern" in order else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _write_scenes(order: Order, texts: Mapping[str, Any], chance: Chance) -> list[Row]:
    """Scenes, each with other tasks than the previous one; one stereotype's come first in every other scene."""
    names = ("goals", "first", "second")
    goals, first, second = (sorted(texts[name], key=lambda one: chance.uniform(f"scene {one}")) for name in names)
    own, other = map(str, order["groups"])
    tasks = {own: first, other: second}
    return [_write_scene(place, goals, tasks) for place in range(min(int(order["count"]), MOST))]


def _write_scene(place: int, goals: Sequence[str], tasks: Mapping[str, Sequence[str]]) -> Row:
    cast = CASTS[place % len(CASTS)]
    round_ = place // len(goals)
    sides = [
        [{"to": group, "text": texts[(2 * place + round_ + step) % len(texts)]} for step in range(number)]
        for (group, texts), number in zip(tasks.items(), cast, strict=True)
    ]
    one, other = sides if place % 2 == 0 else sides[::-1]
    return {
        "goal": goals[place % len(goals)],
        "tasks": [one[0], *other, *one[1:]],
        "cast": dict(zip(tasks, cast, strict=True)),
    }


def _write_templates(order: Order, texts: Mapping[str, Any], chance: Chance, catalog: Catalog) -> Iterator[Row]:
    kinds = [kind.split() for kind, count in order["questions"].items() for _ in range(min(count, MOST))]
    situations = sorted(texts["situations"], key=lambda one: chance.uniform(f"situation {one}"))
    first = int(chance.uniform("first") * len(texts["observational"]))
    who = _find_placeholder(order, texts["form"], catalog) or texts["nobody"]
    person = _find_placeholder(order, "person", catalog)
    for place, (given, reflection) in enumerate(kinds):
        when = situations[place % len(situations)]
        sentences = list(texts["utopian" if reflection == "utopian" else "observational"].items())
        oracle, sentence = sentences[(first + place) % len(sentences)]
        offered = OFFERED[oracle][place // len(sentences) % 2] if given == "constrained" else VERBOSE[oracle]
        if person and place == 1 and given == "constrained":
            yield _template_row(given, reflection, "score", "score", _fill_sentence(texts["number"], person, when))
        else:
            yield _template_row(given, reflection, offered, oracle, _fill_sentence(sentence, who, when))


def _template_row(given: str, reflection: str, named: str, oracle: str, prompt: str) -> Row:
    twin = given == "constrained" and oracle != "score"
    keys = {"input": given, "reflection": reflection, "format": named, "oracle": oracle, "prompt": prompt}
    return {**keys, "paraphrases": [], "twin": twin}


def _fill_sentence(sentence: str, who: str, when: str) -> str:
    begins = re.sub(r":(\w)|^(\w)", lambda letter: letter[0].upper(), who, count=1)
    return sentence.replace("{who}", who).replace("{Who}", begins).replace("{when}", when)


def _find_placeholder(order: Order, form: str, catalog: Catalog) -> str | None:
    """The placeholder of the concern's markup for which every community has the form, or None."""
    concern = catalog.concerns.get(str(order["concern"]))
    for markup in concern.markups if concern else ():
        forms = [
            community.forms.get(str(order["language"]), {})
            for found in catalog.communities.values()
            if found.markup == markup
            for community in found.communities
        ]
        if forms and all(form in each for each in forms):
            return f"{{{markup}:{form}}}"
    return None


def _write_stereotypes(order: Order, chance: Chance, catalog: Catalog) -> list[Row] | None:
    """Pairs from the catalog's own probes."""
    kinds = (("language", str), ("count", int), ("axes", list))
    if not all(isinstance(order[key], kind) for key, kind in kinds):
        return None
    drawn = sorted(_find_pairs(order, catalog), key=lambda one: chance.uniform(f"pair {one[1].id}"))
    return [_pair_row(axis, pair, order["language"]) for axis, pair in drawn[: min(order["count"], MOST)]]


def _find_pairs(order: Order, catalog: Catalog) -> Iterator[tuple[ProbeAxis, AttributePair]]:
    language = order["language"]
    for axis, pair in every_pair(catalog.probes):
        groups = (axis.group(name).words for name in (pair.favoured, pair.stigmatised))
        if axis.id in order["axes"] and language in pair.attributes and all(language in own for own in groups):
            yield axis, pair


def _pair_row(axis: ProbeAxis, pair: AttributePair, language: str) -> Row:
    return {
        "axis": axis.id,
        "favoured": pair.favoured,
        "stigmatised": pair.stigmatised,
        "attributes": list(pair.attributes[language]),
        "kind": pair.kind,
        "why": " ".join(pair.source.split())[:LONGEST_WHY],
    }
