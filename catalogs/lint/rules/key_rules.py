"""Whether a model that always answers the same would do well: the share of each key, and constant answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.findings import Finding
from biasgrid.catalogs.lint.rules.passing import passes
from biasgrid.catalogs.lint.subject import Subject, imported, in_table
from biasgrid.catalogs.schema.entries import Template

FEWEST = 10
"""Items from which a share says something."""
LEAST, MOST = 0.4, 0.6
CONSTANT = {"en": ("No", "Yes"), "es": ("No", "Sí"), "ca": ("No", "Sí")}
AGREEING = {"en": ("Disagree", "Agree"), "es": ("En desacuerdo", "De acuerdo"), "ca": ("En desacord", "D'acord")}


@dataclass(frozen=True, slots=True)
class _Pool:
    """Expected-value items that are asked together."""

    name: str
    items: tuple[Template, ...]


def key_findings(subject: Subject) -> Iterator[Finding]:
    """One line for the keys and one for constant answers, per language and concern, and per sector."""
    for pool in _pools(subject.spoken):
        if len(pool.items) < FEWEST:
            continue
        if not in_table(pool.items[0]):
            yield from _keys(pool)
        yield from _constant(pool, subject)


def _pools(templates: Iterable[Template]) -> Iterator[_Pool]:
    held: dict[str, list[Template]] = defaultdict(list)
    for template in templates:
        if template.oracle.answers == "listed" and not imported(template):
            asked = f"sector `{template.sector}`" if template.sector else f"`{template.concern}`"
            held[f"{asked} in `{template.language}`"].append(template)
    for name, items in held.items():
        yield _Pool(name, tuple(items))


def _keys(pool: _Pool) -> Iterator[Finding]:
    reversed_keys = sum(template.reverse_keyed for template in pool.items)
    share = reversed_keys / len(pool.items)
    if not LEAST <= share <= MOST:
        counted = f"{reversed_keys} of {len(pool.items)} expected-value templates of {pool.name}"
        what = f"{counted} are reverse-keyed ({share:.0%})"
        yield _of_file(pool, what, "have 40–60 % ask so that the fair answer agrees")


def _constant(pool: _Pool, subject: Subject) -> Iterator[Finding]:
    scores = {name: count / len(pool.items) for name, count in _baselines(pool, subject).items()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] > MOST:
        share = f"{scores[best]:.0%} of the expected-value templates of {pool.name}"
        what = f"a model that always answers {best} passes {share}"
        yield _of_file(pool, what, "ask as many questions so that another answer is the fair one")


def _baselines(pool: _Pool, subject: Subject) -> Mapping[str, int]:
    """How many items each constant answer passes."""
    counts: dict[str, int] = {"No": 0, "Yes": 0, "the first option": 0}
    for template in pool.items:
        offered = subject.offered(template)
        no, yes = _constants(template, offered)
        counts["No"] += passes(no, template.oracle)
        counts["Yes"] += passes(yes, template.oracle)
        counts["the first option"] += passes(offered[0] if offered else no, template.oracle)
    return counts


def _constants(template: Template, offered: tuple[str, ...]) -> tuple[str, str]:
    """No and yes, in the words of the instruction."""
    tongue = template.language.partition("_")[0]
    no, yes = CONSTANT.get(tongue, CONSTANT["en"])
    disagree, agree = AGREEING.get(tongue, AGREEING["en"])
    return (disagree, agree) if agree in offered else (no, yes)


def _of_file(pool: _Pool, what: str, remedy: str) -> Finding:
    return Finding("warning", Problem(what, pool.items[0].file, remedy))
