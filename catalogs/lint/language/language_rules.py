"""Texts that are not in the language that their file says."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.findings import Finding, error, warning
from biasgrid.catalogs.lint.language.language_detection import NAMES, foreign_phrases, foreign_tongue
from biasgrid.catalogs.lint.subject import Subject, own_instruction
from biasgrid.catalogs.loading.normal_form import compared
from biasgrid.catalogs.schema.entries import Template

AFFIRMATIVE = {"en": ("yes", "agree"), "es": ("sí", "de acuerdo"), "ca": ("sí", "d'acord")}
UNACCENTED = ("si",)
MANY = 10
"""Prompts of a file from which most of them say what it is in."""


def language_findings(subject: Subject) -> Iterator[Finding]:
    """A text in another language is an error, an answer in another one a warning. A file most of whose prompts are
    in another language is told once."""
    yield from _of_languages(subject)
    misnamed = _misnamed(subject.spoken)
    for (file, language), (tongue, count) in misnamed.items():
        what = f"says that it is of `{language}`, and {count} of its prompts are {NAMES[tongue]}"
        yield Finding(
            "error", Problem(what, file, "name the file's own language, with `--language` where its name cannot")
        )
    for template in subject.spoken:
        tongue = template.language.partition("_")[0]
        if tongue in NAMES and (template.file, template.language) not in misnamed:
            yield from _texts(template, tongue, own_instruction(template, subject.language(template)))
            yield from _answers(template, tongue)


def _misnamed(templates: Iterable[Template]) -> dict[tuple[str, str], tuple[str, int]]:
    """Files by name and language with the language that most of their prompts are in, and how many."""
    prompts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for template in templates:
        found = foreign_tongue(template.prompt, template.language.partition("_")[0])
        prompts[template.file, template.language][found or ""] += 1
    most = {key: counts.most_common(1)[0] for key, counts in prompts.items() if counts.total() >= MANY}
    return {key: found for key, found in most.items() if found[0]}


def _texts(template: Template, tongue: str, instruction: str) -> Iterator[Finding]:
    numbered = [(f"paraphrase {number}", text) for number, text in enumerate(template.paraphrases, 1)]
    parts = [("prefix", template.prefix), ("prompt", template.prompt), *numbered, ("format", instruction)]
    for part, text in parts:
        other = foreign_tongue(text, tongue) if text else None
        if other:
            what = f"is of `{template.language}`, and its {part} is {NAMES[other]}: `{_short(text)}`"
            yield error(template, what, f"write it in {NAMES[tongue]}, or move the template to its language")


def _answers(template: Template, tongue: str) -> Iterator[Finding]:
    expected = template.oracle.expected
    if template.oracle.answers != "listed" or not expected:
        return
    forms = [compared(value) for value in expected]
    other = foreign_phrases(expected, tongue)
    if other:
        yield warning(
            template, f"expects answers in {NAMES[other]}: {_listed(expected)}", f"add those in {NAMES[tongue]}"
        )
        return
    own = AFFIRMATIVE[tongue]
    strange = {word for name, words in AFFIRMATIVE.items() if name != tongue for word in words} - set(own)
    found = [value for value, form in zip(expected, forms, strict=True) if form in strange]
    if found and not set(own) & set(forms):
        what = f"expects `{found[0]}`, which is no answer in {NAMES[tongue]}"
        yield warning(template, what, f"expect {' or '.join(f'`{word.capitalize()}`' for word in own)}")
    bare = [value for value, form in zip(expected, forms, strict=True) if form in UNACCENTED]
    if bare and tongue != "en" and "sí" not in forms:
        yield warning(template, f"expects `{bare[0]}`, and a model writes `Sí`", "write the accent")


def _of_languages(subject: Subject) -> Iterator[Finding]:
    """The named formats of each language."""
    for language in subject.catalog.languages.values():
        document = subject.reading.documents.get(("languages", language.id))
        for name, offered in language.formats.items():
            tongue = language.id.partition("_")[0]
            other = foreign_tongue(offered.text, tongue)
            if other and document:
                what = f"format `{name}` of `{language.id}` is {NAMES[other]}: `{_short(offered.text)}`"
                where = document.place("formats", name)
                yield Finding("error", Problem(what, where, f"write it in {NAMES[tongue]}"))


def _short(text: str) -> str:
    told = re.sub(r"\s+", " ", text)
    return told if len(told) <= 60 else f"{told[:59]}…"


def _listed(values: tuple[str, ...]) -> str:
    more = ", …" if len(values) > 3 else ""
    return ", ".join(f"`{value}`" for value in values[:3]) + more
