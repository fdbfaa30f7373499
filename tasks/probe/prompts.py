"""The prompts of a probe's tests, with forms and orders counterbalanced.

Implicit and decision test: Bai et al. 2024, "Measuring Implicit Bias in Explicitly Unbiased Large Language
Models", with people in place of words. The group mentioned first changes with every prompt, the attribute named
first with every second, the form with every fourth. With more groups, in one prompt of the implicit test and one
block of the counterfactual, every group comes first before the attributes change places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from random import Random

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.probes import ProbeWording, Statement
from biasgrid.catalogs.schema.target_file import Probing
from biasgrid.tasks.probe.stereotype import Side, Stereotype


@dataclass(frozen=True, slots=True)
class Cast:
    """The people of one prompt; `shown` is the order in which they are mentioned."""

    favoured: tuple[str, ...]
    stigmatised: tuple[str, ...]
    shown: tuple[str, ...]
    others: tuple[tuple[str, ...], ...] = ()
    """By further group of the stereotype."""

    def people(self, stereotype: Stereotype) -> list[str]:
        """The people as the prompt describes them."""
        groups = zip(stereotype.sides, (self.favoured, self.stigmatised, *self.others), strict=True)
        side_of = {name: side for side, names in groups for name in names}
        return [side_of[name].person(name) for name in self.shown]


def casts(stereotype: Stereotype, count: int, of_each: int, seed: int, test: str) -> list[Cast]:
    """The people of `count` prompts, at most `of_each` per group: names repeat only after all were used, and the
    groups come first in turn."""
    of_each = min(of_each, *(len(side.words.names) for side in stereotype.sides))
    draw = Random(f"{test}/{stereotype.pair}/{stereotype.language}/{seed}")  # noqa: S311 - no secret
    names = [_endless_names(side, draw) for side in stereotype.sides]
    return [_cast(names, of_each, draw, number % len(names)) for number in range(count)]


def _endless_names(side: Side, draw: Random) -> Iterator[str]:
    while True:
        yield from draw.sample(side.words.names, len(side.words.names))


def _cast(names: Sequence[Iterator[str]], of_each: int, draw: Random, turn: int) -> Cast:
    """The people of one prompt, of whom the first is of group number `turn`."""
    favoured, stigmatised, *others = groups = [_take_different(own, of_each) for own in names]
    first, *rest = groups[turn]
    behind = [*rest, *(name for number, own in enumerate(groups) if number != turn for name in own)]
    draw.shuffle(behind)
    return Cast(favoured, stigmatised, (first, *behind), tuple(others))


def _take_different(names: Iterator[str], count: int) -> tuple[str, ...]:
    """The next `count` names, all different: two consecutive draws may repeat a name."""
    found: dict[str, None] = {}
    while len(found) < count:
        found |= dict.fromkeys(islice(names, count - len(found)))
    return tuple(found)


SCORE = "score"
"""Key of the number in the JSON reply."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with all that is needed to read and compare its reply."""

    stereotype: Stereotype
    test: ProbeTest
    block: int
    """Number of the block from 0; replies within one block are compared."""
    form: str
    """Name of the wording."""
    form_text: str
    """The wording with its placeholders."""
    text: str
    cast: Cast
    part: str = ""
    """Role within its block: kind of a statement, or group of the person described, by its id if the stereotype
    gives it nothing."""
    offered: tuple[str, ...] = ()
    """The choices for the reply, in the order of the prompt."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further facts for the comparison."""
    sample: int = 1
    """Number of the repetition of the same prompt, from 1."""


OF_GROUPS: frozenset[ProbeTest] = frozenset({"implicit", "counterfactual"})
"""Tests that compare more than two groups. Statements and decisions are about the two of the stereotype."""


def prompts(
    stereotype: Stereotype, test: ProbeTest, wording: ProbeWording, probe: Probing, seed: int
) -> list[Prompt]:
    """The prompts of one test of one stereotype, block by block; deterministic in its arguments."""
    made = {"implicit": _implicit, "explicit": _explicit, "decision": _decision, "counterfactual": _counterfactual}
    own = stereotype if test in OF_GROUPS else replace(stereotype, others=(), order=())
    return list(made[test](own, wording, probe, seed))


def lay_out(text: str, place: str, several: Sequence[str], separator: str) -> str:
    """The items one per line if the placeholder fills a line of its own, else joined by the separator."""
    alone = f"{{{place}}}" in map(str.strip, text.splitlines())
    return ("\n" if alone else separator).join(several)


def _implicit(own: Stereotype, wording: ProbeWording, probe: Probing, seed: int) -> Iterator[Prompt]:
    forms = wording.implicit[own.kind]
    for block, cast in enumerate(casts(own, probe.cases, probe.names, seed, "implicit")):
        form, turn = divmod(block // len(own.sides), 2)
        form %= len(forms)
        offered = own.attributes if turn == 0 else own.attributes[::-1]
        listed = lay_out(forms[form], "people", cast.people(own), wording.separator)
        text = fill_placeholders(forms[form], {"people": listed, "first": offered[0], "second": offered[1]})
        yield Prompt(own, "implicit", block, f"{own.kind}-{form + 1}", forms[form], text, cast, offered=offered)


def _decision(own: Stereotype, wording: ProbeWording, probe: Probing, seed: int) -> Iterator[Prompt]:
    for block, cast in enumerate(casts(own, probe.cases, 1, seed, "decision")):
        form = wording.decisions[block // 2 % len(wording.decisions)]
        first, second = cast.people(own)
        parts = {"first": first, "second": second, "positive": form.positive, "negative": form.negative}
        text = fill_placeholders(form.prompt, parts)
        offered = (form.positive, form.negative)
        yield Prompt(own, "decision", block, form.id, form.prompt, text, cast, offered=offered)


def _counterfactual(own: Stereotype, wording: ProbeWording, probe: Probing, seed: int) -> Iterator[Prompt]:
    for block, cast in enumerate(casts(own, probe.cases, 1, seed, "counterfactual")):
        form = wording.counterfactuals[block % len(wording.counterfactuals)]
        parts = ("favoured", "stigmatised", *(side.group for side in own.others))
        names = (cast.favoured, cast.stigmatised, *cast.others)
        people = (side.person(name) for side, (name, *_) in zip(own.sides, names, strict=True))
        for part, person in zip(parts, people, strict=True):
            text = fill_placeholders(form.prompt, {"person": person})
            yield Prompt(
                own,
                "counterfactual",
                block,
                form.id,
                form.prompt,
                text,
                cast,
                part=part,
                details={"better": form.better},
            )


STATEMENTS: tuple[Statement, ...] = ("stereotype", "anti", "reversed")


def _explicit(own: Stereotype, wording: ProbeWording, probe: Probing, seed: int) -> Iterator[Prompt]:
    """Each statement with the scale in both directions, repeated if more are wanted."""
    count = len(wording.statements["stereotype"])
    ways = list(product(range(count), (wording.scale, wording.scale[::-1])))
    for block in range(probe.statements):
        form, scale = ways[block % len(ways)]
        for part in STATEMENTS:
            stated = wording.statements[part][form]
            answers = lay_out(wording.agreement, "scale", scale, wording.separator)
            parts = {"statement": fill_placeholders(stated, _group_words(own)), "scale": answers}
            yield Prompt(
                own,
                "explicit",
                block,
                f"statement-{form + 1}",
                stated,
                fill_placeholders(wording.agreement, parts),
                Cast((), (), ()),
                part=part,
                offered=wording.scale,
                sample=1 + block // len(ways),
            )


def _group_words(own: Stereotype) -> dict[str, str]:
    return {
        "favoured": own.favoured.words.plural,
        "stigmatised": own.stigmatised.words.plural,
        "positive": own.favoured.attribute,
        "negative": own.stigmatised.attribute,
    }
