"""The prompts of a probe's tests, with forms and orders counterbalanced.

Implicit and decision test: Bai et al. 2024, "Measuring Implicit Bias in Explicitly Unbiased Large Language
Models", with people in place of words. The group mentioned first changes with every prompt, the attribute named
first with every second, the form with every fourth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random

from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.choices import ProbeTest
from biasgrid.catalogs.schema.probes import ProbeWording, Statement
from biasgrid.catalogs.schema.target_file import Probing
from biasgrid.tasks.probe.stereotype import Side, Stereotype


@dataclass(frozen=True, slots=True)
class Cast:
    """The people of one prompt; `shown` is the order in which they are mentioned."""

    favoured: tuple[str, ...]
    stigmatised: tuple[str, ...]
    shown: tuple[str, ...]

    def people(self, stereotype: Stereotype) -> list[str]:
        """The people as the prompt describes them."""
        own = set(self.favoured)
        sides = ((stereotype.favoured if name in own else stereotype.stigmatised, name) for name in self.shown)
        return [side.person(name) for side, name in sides]


def casts(stereotype: Stereotype, count: int, of_each: int, seed: int, test: str) -> list[Cast]:
    """The people of `count` prompts, at most `of_each` per group: names repeat only after all were used, and the
    favoured group comes first in every other prompt."""
    of_each = min(of_each, *(len(side.words.names) for side in (stereotype.favoured, stereotype.stigmatised)))
    draw = Random(f"{test}/{stereotype.pair}/{stereotype.language}/{seed}")  # noqa: S311 - no secret
    favoured, stigmatised = (_endless_names(side, draw) for side in (stereotype.favoured, stereotype.stigmatised))
    return [_cast(favoured, stigmatised, of_each, draw, favoured_first=number % 2 == 0) for number in range(count)]


def _endless_names(side: Side, draw: Random) -> Iterator[str]:
    while True:
        yield from draw.sample(side.words.names, len(side.words.names))


def _cast(
    favoured: Iterator[str], stigmatised: Iterator[str], of_each: int, draw: Random, *, favoured_first: bool
) -> Cast:
    own, other = (_take_different(names, of_each) for names in (favoured, stigmatised))
    first, *rest = own if favoured_first else other
    behind = [*rest, *(other if favoured_first else own)]
    draw.shuffle(behind)
    return Cast(own, other, (first, *behind))


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
    """Role within its block: kind of a statement, or group of the person described."""
    offered: tuple[str, ...] = ()
    """The choices for the reply, in the order of the prompt."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further facts for the comparison."""
    sample: int = 1
    """Number of the repetition of the same prompt, from 1."""


def prompts(
    stereotype: Stereotype, test: ProbeTest, wording: ProbeWording, probe: Probing, seed: int
) -> list[Prompt]:
    """The prompts of one test of one stereotype, block by block; deterministic in its arguments."""
    made = {"implicit": _implicit, "explicit": _explicit, "decision": _decision, "counterfactual": _counterfactual}
    return list(made[test](stereotype, wording, probe, seed))


def lay_out(text: str, place: str, several: Sequence[str], separator: str) -> str:
    """The items one per line if the placeholder fills a line of its own, else joined by the separator."""
    alone = f"{{{place}}}" in map(str.strip, text.splitlines())
    return ("\n" if alone else separator).join(several)


def _implicit(own: Stereotype, wording: ProbeWording, probe: Probing, seed: int) -> Iterator[Prompt]:
    forms = wording.implicit[own.kind]
    for block, cast in enumerate(casts(own, probe.cases, probe.names, seed, "implicit")):
        form = block // 4 % len(forms)
        offered = own.attributes if block // 2 % 2 == 0 else own.attributes[::-1]
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
        people = {"favoured": own.favoured.person(cast.favoured[0])}
        people |= {"stigmatised": own.stigmatised.person(cast.stigmatised[0])}
        for part, person in people.items():
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
