"""Checks templates: forms, parallels in other languages, and the share that constant answers pass."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.rules.placeholders import is_misspelt
from biasgrid.catalogs.lint.subject import (
    Finding,
    Found,
    Rule,
    Subject,
    at,
    error,
    in_table,
    is_imported,
    list_names,
    on_template,
    warn,
)
from biasgrid.catalogs.loading.normal_form import passes
from biasgrid.catalogs.schema.entries import CommunitySet, Template
from biasgrid.catalogs.wording import SLOT, slots, wordings


def _twins(subject: Subject) -> Iterator[Finding]:
    # a twin may be among the templates that could not be read
    all_read = not subject.reading.mistakes
    by_id = {(template.language, template.id): template for template in subject.catalog.templates}
    for template in by_id.values():
        if template.twin is None:
            continue
        twin = by_id.get((template.language, template.twin))
        named = f"names the twin `{template.twin}`, which"
        if twin is None and all_read:
            near = nearest(template.twin, [name for tag, name in by_id if tag == template.language])
            yield on_template(template, error(f"{named} does not exist in `{template.language}`", near))
        elif twin is not None and twin.input == template.input:
            what = f"{named} has the same input, {twin.input}"
            yield on_template(template, error(what, "a twin asks with the other input"))


def _forms(template: Template, subject: Subject) -> Iterator[Found]:
    """Errors of slots without a form, of forms that a community lacks, and of unknown formats."""
    language = subject.language(template)
    text = " ".join(wording.text for wording in wordings(template, language))
    for slot in {match[0]: match for match in SLOT.finditer(text)}.values():
        sets = [found for found in subject.catalog.communities.values() if found.markup == slot["markup"]]
        # a set that could not be composed is reported elsewhere
        sets = [found for found in sets if found.communities]
        if not sets or (slot["form"] is None and subject.catalog.library != "shipped"):
            continue
        form = str(slot["form"] or "").lower()
        if not form:
            spoken = sets[0].communities[0].forms.get(template.language, {})
            yield error(f"asks for `{slot[0]}` without a form", f"add one: {', '.join(spoken)}")
        for found in sets if form else ():
            yield from _lacking_communities(template.language, slot[0], form, found)
    if is_misspelt(template, language):
        what = f"names the format `{template.format}`, which is none of `{template.language}`"
        yield error(what, nearest(template.format, language.formats))


def _lacking_communities(language: str, asked: str, form: str, found: CommunitySet) -> Iterator[Found]:
    lacking = [each.id for each in found.communities if form not in each.forms.get(language, {})]
    if lacking:
        what = f"asks for `{asked}`, and there is no form `{form}` of {list_names(lacking, 8)} in `{language}`"
        # an intersection is used only if a requirement names it
        severity = warn if found.intersection else error
        yield severity(what, nearest(form, found.communities[0].forms.get(language, {})))


FEWEST = 10
"""Minimum number of items for a share to be meaningful."""
LEAST, MOST = 0.4, 0.6
CONSTANT = {"en": ("No", "Yes"), "es": ("No", "Sí"), "ca": ("No", "Sí")}
AGREEING = {"en": ("Disagree", "Agree"), "es": ("En desacuerdo", "De acuerdo"), "ca": ("En desacord", "D'acord")}


def _keys(subject: Subject) -> Iterator[Finding]:
    """Warnings on reverse-keyed shares and constant answers, per language and concern and per sector."""
    for name, items in _pools(subject.spoken).items():
        if len(items) < FEWEST:
            continue
        for what, remedy in (*_reverse_keyed_share(name, items), *_constant_answer(name, items, subject)):
            yield Finding("warning", Problem(what, items[0].file, remedy))


def _pools(templates: Iterable[Template]) -> dict[str, list[Template]]:
    """Expected-value items that are evaluated together, by name."""
    held: dict[str, list[Template]] = defaultdict(list)
    for template in templates:
        if template.oracle.answers == "listed" and not is_imported(template):
            asked = f"sector `{template.sector}`" if template.sector else f"`{template.concern}`"
            held[f"{asked} in `{template.language}`"].append(template)
    return held


def _reverse_keyed_share(name: str, items: list[Template]) -> Iterator[tuple[str, str]]:
    reverse_keyed = sum(template.reverse_keyed for template in items)
    share = reverse_keyed / len(items)
    if not in_table(items[0]) and not LEAST <= share <= MOST:
        counted = f"{reverse_keyed} of {len(items)} expected-value templates of {name}"
        yield f"{counted} are reverse-keyed ({share:.0%})", "have 40–60 % ask so that the fair answer agrees"


def _constant_answer(name: str, items: list[Template], subject: Subject) -> Iterator[tuple[str, str]]:
    """A warning on the constant answer that passes most items."""
    counts = {"No": 0, "Yes": 0, "the first option": 0}
    for template in items:
        offered = subject.offered_answers(template)
        no, yes = _no_and_yes(template, offered)
        for answer, text in zip(counts, (no, yes, offered[0] if offered else no), strict=True):
            counts[answer] += passes(text, template.oracle)
    best = max(counts, key=lambda answer: counts[answer])
    share = counts[best] / len(items)
    if share > MOST:
        what = f"a model that always answers {best} passes {share:.0%} of the expected-value templates of {name}"
        yield what, "ask as many questions so that another answer is the fair one"


def _no_and_yes(template: Template, offered: tuple[str, ...]) -> tuple[str, str]:
    """The answers for no and yes, in the words of the instruction."""
    tongue = template.language.partition("_")[0]
    agreement = AGREEING.get(tongue, AGREEING["en"])
    return agreement if agreement[1] in offered else CONSTANT.get(tongue, CONSTANT["en"])


SHOWN = 6
"""Maximum number of ids in one message."""


def _parallels(subject: Subject) -> Iterator[Finding]:
    """Findings on missing translations (one per language and concern) and on differing templates."""
    by_id: dict[str, dict[str, Template]] = defaultdict(dict)
    for template in subject.own:
        by_id[template.id][template.language] = template
    tongues = {template.language for template in subject.own}
    if len(tongues) > 1:
        languages = sorted(tongues, key=lambda tag: (tag != "en_us", tag))
        yield from _missing_translations(by_id, languages)
        for versions in by_id.values():
            yield from _differences([versions[language] for language in languages if language in versions])


def _missing_translations(by_id: Mapping[str, Mapping[str, Template]], languages: list[str]) -> Iterator[Finding]:
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
        yield Finding("warning", Problem(what, at(templates[0]), "write them there too, with the same ids"))


def _differences(versions: list[Template]) -> Iterator[Finding]:
    for other in versions[1:]:
        ours, theirs = _structure(other), _structure(versions[0])
        differences = [f"{name} {ours[name]}, not {theirs[name]}" for name in ours if ours[name] != theirs[name]]
        if differences:
            languages = f"between `{other.language}` and `{versions[0].language}`"
            what = f"differs {languages}: {'; '.join(differences)}"
            yield on_template(other, warn(what, "ask the same in every language, or give it an id of its own"))


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


FORM_RULES = (Rule("catalog", _twins), Rule("spoken", _forms))
SHARE_RULES = (Rule("catalog", _keys), Rule("catalog", _parallels))
