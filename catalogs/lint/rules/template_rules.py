"""Checks templates: forms, parallels in other languages, and the share that constant answers pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.placeholders import is_misspelt
from biasgrid.catalogs.lint.subject import Finding, Subject, error, imported, in_table, warning
from biasgrid.catalogs.loading.normal_form import passes
from biasgrid.catalogs.schema.entries import CommunitySet, Template
from biasgrid.catalogs.schema.wording import SLOT, slots, wordings


def form_findings(subject: Subject) -> Iterator[Finding]:
    """Findings on forms that a community lacks, unknown formats and missing twins."""
    # a twin may be among the templates that could not be read
    yield from _twins(subject.catalog.templates, all_read=not subject.reading.mistakes)
    for template in subject.spoken:
        yield from _formless(template, subject)
        yield from _misspelt_format(template, subject)


def _twins(templates: Iterable[Template], all_read: bool) -> Iterator[Finding]:
    by_id = {(template.language, template.id): template for template in templates}
    for template in by_id.values():
        if template.twin is None:
            continue
        twin = by_id.get((template.language, template.twin))
        named = f"names the twin `{template.twin}`, which"
        if twin is None and all_read:
            near = nearest(template.twin, [name for tag, name in by_id if tag == template.language])
            yield error(template, f"{named} does not exist in `{template.language}`", near)
        elif twin is not None and twin.input == template.input:
            yield error(template, f"{named} has the same input, {twin.input}", "a twin asks with the other input")


def _formless(template: Template, subject: Subject) -> Iterator[Finding]:
    """Errors of slots without a form, or with a form that a community lacks."""
    text = " ".join(wording.text for wording in wordings(template, subject.language(template)))
    for slot in {match[0]: match for match in SLOT.finditer(text)}.values():
        sets = [found for found in subject.catalog.communities.values() if found.markup == slot["markup"]]
        # a set that could not be composed is reported elsewhere
        sets = [found for found in sets if found.communities]
        if not sets or (slot["form"] is None and subject.catalog.library != "shipped"):
            continue
        form = str(slot["form"] or "").lower()
        spoken = sets[0].communities[0].forms.get(template.language, {})
        if not form:
            remedy = f"add one: {', '.join(spoken)}"
            yield error(template, f"asks for `{slot[0]}` without a form", remedy)
        for found in sets if form else ():
            yield from _lacking(template, slot[0], form, found)


def _lacking(template: Template, asked: str, form: str, found: CommunitySet) -> Iterator[Finding]:
    lacking = [each.id for each in found.communities if form not in each.forms.get(template.language, {})]
    if lacking:
        named = ", ".join(f"`{name}`" for name in lacking[:8]) + (", …" if len(lacking) > 8 else "")
        what = f"asks for `{asked}`, and there is no form `{form}` of {named} in `{template.language}`"
        remedy = nearest(form, found.communities[0].forms.get(template.language, {}))
        # an intersection is used only if a requirement names it
        told = warning if found.intersection else error
        yield told(template, what, remedy)


def _misspelt_format(template: Template, subject: Subject) -> Iterator[Finding]:
    language = subject.language(template)
    if is_misspelt(template, language):
        what = f"names the format `{template.format}`, which is none of `{template.language}`"
        yield error(template, what, nearest(template.format, language.formats))


FEWEST = 10
"""Minimum number of items for a share to be meaningful."""
LEAST, MOST = 0.4, 0.6
CONSTANT = {"en": ("No", "Yes"), "es": ("No", "Sí"), "ca": ("No", "Sí")}
AGREEING = {"en": ("Disagree", "Agree"), "es": ("En desacuerdo", "De acuerdo"), "ca": ("En desacord", "D'acord")}


@dataclass(frozen=True, slots=True)
class _Pool:
    """Expected-value items that are evaluated together."""

    name: str
    items: tuple[Template, ...]


def key_findings(subject: Subject) -> Iterator[Finding]:
    """Warnings on reverse-keyed shares and constant answers, per language and concern and per sector."""
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
    """Number of items that each constant answer passes."""
    counts: dict[str, int] = {"No": 0, "Yes": 0, "the first option": 0}
    for template in pool.items:
        offered = subject.offered(template)
        no, yes = _constants(template, offered)
        counts["No"] += passes(no, template.oracle)
        counts["Yes"] += passes(yes, template.oracle)
        counts["the first option"] += passes(offered[0] if offered else no, template.oracle)
    return counts


def _constants(template: Template, offered: tuple[str, ...]) -> tuple[str, str]:
    """The answers for no and yes, in the words of the instruction."""
    tongue = template.language.partition("_")[0]
    no, yes = CONSTANT.get(tongue, CONSTANT["en"])
    disagree, agree = AGREEING.get(tongue, AGREEING["en"])
    return (disagree, agree) if agree in offered else (no, yes)


def _of_file(pool: _Pool, what: str, remedy: str) -> Finding:
    return Finding("warning", Problem(what, pool.items[0].file, remedy))


SHOWN = 6
"""Maximum number of ids in one message."""


def parallel_findings(subject: Subject) -> Iterator[Finding]:
    """Findings on missing translations (one per language and concern) and on differing templates."""
    by_id: dict[str, dict[str, Template]] = defaultdict(dict)
    for template in subject.own:
        by_id[template.id][template.language] = template
    tongues = {template.language for template in subject.own}
    if len(tongues) > 1:
        languages = sorted(tongues, key=lambda tag: (tag != "en_us", tag))
        yield from _missing(by_id, languages)
        yield from _differing(by_id, languages)


def _missing(by_id: Mapping[str, Mapping[str, Template]], languages: list[str]) -> Iterator[Finding]:
    lacking: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for versions in by_id.values():
        known = next(iter(versions.values()))
        for language in languages if known.sector is None else ():
            if language not in versions:
                lacking[language, known.concern].append(known)
    for (language, concern), templates in lacking.items():
        ids = ", ".join(f"`{template.id}`" for template in templates[:SHOWN])
        more = f" and {len(templates) - SHOWN} more" if len(templates) > SHOWN else ""
        what = f"`{concern}` lacks in `{language}` what it has in `{templates[0].language}`: {ids}{more}"
        yield Finding("warning", Problem(what, _where(templates[0]), "write them there too, with the same ids"))


def _where(template: Template) -> str:
    return f"{template.file}:{template.line}" if template.line else template.file


def _differing(by_id: Mapping[str, Mapping[str, Template]], languages: list[str]) -> Iterator[Finding]:
    for versions in by_id.values():
        spoken = [versions[language] for language in languages if language in versions]
        for other in spoken[1:]:
            differences = _differences(other, spoken[0])
            if differences:
                what = f"differs between `{other.language}` and `{spoken[0].language}`: {'; '.join(differences)}"
                yield warning(other, what, "ask the same in every language, or give it an id of its own")


def _differences(one: Template, other: Template) -> list[str]:
    ours, theirs = _structure(one), _structure(other)
    return [f"{name} {ours[name]}, not {theirs[name]}" for name in ours if ours[name] != theirs[name]]


def _structure(template: Template) -> dict[str, str]:
    """Properties that must be equal in every language."""
    named = " ".join(slot.name for slot in slots(template.prompt))
    return {
        "concern": template.concern,
        "input": template.input,
        "reflection": template.reflection,
        "operation": template.oracle.operation,
        "key": template.oracle.key or "none",
        "reverse-keyed": "yes" if template.reverse_keyed else "no",
        "twin": template.twin or "none",
        "paraphrases": str(len(template.paraphrases)),
        "markups": named or "none",
        "sector": template.sector or "none",
    }
