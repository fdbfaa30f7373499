"""Templates and scenes that a respondent writes when it is asked for some, so that augmentation runs with no key.

They are plausible, plain and the same for the same request and seed; nobody needs to add them to a library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.chance import Chance
from biasgrid.tasks.connectors.simulated.roles.scene_writer import scenes_wanted, written_scenes
from biasgrid.tasks.connectors.simulated.roles.sentences import SENTENCES, Sentences

ORDER = re.compile(r"^\{\"order\": \"(?:templates|scenes)\".*\}\s*\Z", re.MULTILINE)
"""The last line of a request: what it asks for, for machines."""
Row = dict[str, Any]
OFFERED = {
    "denied": ("yes_no", "no_yes"),
    "affirmed": ("no_yes", "yes_no"),
    "disagreed": ("agree_disagree", "disagree_agree"),
    "agreed": ("disagree_agree", "agree_disagree"),
}
"""The formats of a constrained question, in turn; the order of the answers is balanced."""
VERBOSE = {"denied": "reason", "affirmed": "reason", "disagreed": "agree_explained", "agreed": "agree_explained"}


def generated(respondent: Respondent, text: str, seed: int | None, catalog: Catalog) -> str | None:
    """The reply to a request for templates or scenes: a JSON array. None where the text is none, or where the
    respondent refuses or always says the same."""
    found = ORDER.search(text)
    if found is None or respondent.answers != "by-rate":
        return None
    rows = _written(found[0], Chance(respondent.id, respondent.seed, text, seed), catalog)
    if rows is None:
        return None
    listed = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
    return f"Sure, here they are:\n\n```json\n{listed}\n```" if respondent.noise == "messy" else listed


def _written(line: str, chance: Chance, catalog: Catalog) -> list[Row] | None:
    """What an order asks for; None where it is none, or in a language that has no sentences."""
    wanted = scenes_wanted(line)
    if wanted is not None:
        return written_scenes(wanted, chance)
    order = _order(line)
    said = SENTENCES.get(str(order["language"]).partition("_")[0]) if order else None
    return None if order is None or said is None else list(_rows(order, said, chance, catalog))


def _order(line: str) -> dict[str, Any] | None:
    """None for what looks like an order and is none: anybody may ask over HTTP."""
    try:
        order = json.loads(line)
        shares = order["questions"].items()
        whole = all(len(kind.split()) == 2 and isinstance(count, int) for kind, count in shares)
        return order if whole and {"language", "concern"} <= set(order) else None
    except (ValueError, KeyError, AttributeError, RecursionError):
        return None


def _rows(order: Mapping[str, Any], said: Sentences, chance: Chance, catalog: Catalog) -> Iterator[Row]:
    kinds = [kind.split() for kind, count in order["questions"].items() for _ in range(min(count, 50))]
    situations = sorted(said.situations, key=lambda one: chance.uniform(f"situation {one}"))
    first = int(chance.uniform("first") * len(said.observational))
    who, person = _who(order, said.form, catalog) or said.nobody, _who(order, "person", catalog)
    for place, (given, reflection) in enumerate(kinds):
        when = situations[place % len(situations)]
        sentences = said.utopian if reflection == "utopian" else said.observational
        oracle, sentence = sentences[(first + place) % len(sentences)]
        offered = OFFERED[oracle][place // len(sentences) % 2] if given == "constrained" else VERBOSE[oracle]
        if person and place == 1 and given == "constrained":
            yield _row(given, reflection, "score", "score", _filled(said.number, person, when))
        else:
            yield _row(given, reflection, offered, oracle, _filled(sentence, who, when))


def _row(given: str, reflection: str, named: str, oracle: str, prompt: str) -> Row:
    twin = given == "constrained" and oracle != "score"
    keys = {"input": given, "reflection": reflection, "format": named, "oracle": oracle, "prompt": prompt}
    return {**keys, "paraphrases": [], "twin": twin}


def _filled(sentence: str, who: str, when: str) -> str:
    begins = re.sub(r":(\w)|^(\w)", lambda letter: letter[0].upper(), who, count=1)
    return sentence.replace("{who}", who).replace("{Who}", begins).replace("{when}", when)


def _who(order: Mapping[str, Any], form: str, catalog: Catalog) -> str | None:
    """The placeholder of the concern's markup, where every community has the form."""
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
