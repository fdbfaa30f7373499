"""Finds texts that are not in the language that their file states."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.subject import (
    Finding,
    Found,
    Rule,
    Subject,
    error,
    list_names,
    on_template,
    own_texts,
    shorten,
    warn,
)
from biasgrid.catalogs.loading.normal_form import compared
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIGNS = {
    "en": words(
        """the of and is are was were does do did should would could with to for from that than then who whom
        which what why when where how your you we they their them his her its my be been have not or
        if an it this these those at by but because about any all more most less people women men
        please answer begin say give reply following sentence text whether one other another must
        only never always just there before after between both each into out over such someone on in
        as so he she per sense home homes for van pot don't doesn't isn't i'm can't cannot"""
    ),
    "es": words(
        """ha han has he un una los las y con por para más muy pero sin como cuando porque qué quién cuál cómo
        dónde cuándo cuánto cuántos son está están tiene tienen puede pueden debe deben debería
        deberían hay hacer hecho su sus mi tu lo le del al uno unos esta este estos estas ese esa
        eso esto otro otra otros otras persona personas mujer mujeres hombre hombres gente mejor
        mejores peor peores menos igual iguales mismo misma mismos mismas siempre nunca también ser
        era fue si desde hasta entre según donde responde respuesta empieza comienza frase siguiente
        texto opinión trabajo trabajar año años todos todas cada solo sólo ya yo él ellos ellas nos
        les no el la de en que se es"""
    ),
    "ca": words(
        """tu mi els les i amb per més molt però sense com quan perquè què qui quin quina quins quines on són
        és està estan té tenen pot poden ha han hauria haurien cal hi ho fer fet seu seva seus seves
        meu meva al als del dels pel pels una un uns unes aquest aquesta aquests aquestes això allò
        altre altra altres persona persones dona dones home homes gent millor millors pitjor pitjors
        menys igual iguals mateix mateixa mateixos mateixes sempre mai també ser era si des fins
        entre segons respon resposta comença frase següent text opinió feina treball treballar any
        anys tots totes cada només ja jo ell ells elles ens no el la de en que es dues tant"""
    ),
}
"""Frequent words; those that two languages share are not counted."""
SPELLINGS = {
    "es": re.compile(r"ñ|\w+(?:ción|ciones|dad|dades)\b|¿(?=\w)"),
    "ca": re.compile(
        r"·|ç|\w*[àèò]\w*|\w+(?:ció|cions|itat|itats)\b|(?<!\w)[dlmnst]['’][^\W\d_]|\w+['’](?:n|ls|hi|ho)\b|\w*ny\w*"
    ),
    "en": re.compile(r"\w+(?:ing|tion|ness|ly)\b|\w+n['’]t\b|\w+['’](?:s|re|ve|ll)\b|\bw\w+|\w*(?:th|sh|ck)\w*"),
}
WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:['’][^\W\d_]+)?")
"""A word, but not a part after a hyphen: Catalan `tractar-los` is not Spanish `los`."""
QUOTED = re.compile(r"\"[^\"]*\"|«[^»]*»|“[^”]*”|\{[^{}]*\}")
FEW_WORDS = 3
READ = 4_000
"""Number of characters read, enough to detect the language."""
NAMES = {"en": "English", "es": "Spanish", "ca": "Catalan"}


def _alone(tongue: str) -> frozenset[str]:
    """Words that occur in none of the other languages here."""
    others = frozenset().union(*(words for name, words in SIGNS.items() if name != tongue))
    return SIGNS[tongue] - others


ALONE = {tongue: _alone(tongue) for tongue in SIGNS}


@lru_cache(maxsize=8192)
def frequent_words(text: str) -> dict[str, int]:
    """By language: number of different words unique to it in a text, quotations excluded."""
    words = WORD.findall(QUOTED.sub(" ", text[:READ]))
    found = {word.lower().replace("’", "'") for word in words if word != "I"}
    return {tongue: len(found & alone) for tongue, alone in ALONE.items()}


@lru_cache(maxsize=8192)
def signs(text: str) -> dict[str, int]:
    """As `frequent_words`, plus words whose spelling is unique to the language."""
    counted = dict(frequent_words(text))
    unquoted = QUOTED.sub(" ", text[:READ]).lower()
    for tongue, pattern in SPELLINGS.items():
        counted[tongue] += len(set(pattern.findall(unquoted)) - ALONE[tongue])
    return counted


def foreign_tongue(text: str, tongue: str) -> str | None:
    """The language of a text if it is clearly not `tongue`, else None."""
    if tongue not in SIGNS or len(WORD.findall(QUOTED.sub(" ", text[:READ]))) < FEW_WORDS:
        return None
    counted, plain = signs(text), frequent_words(text)
    other = max((name for name in SIGNS if name != tongue), key=lambda name: counted[name])
    wholly = counted[other] >= 2 and plain[other] >= 1 and counted[tongue] == 0
    mostly = plain[other] >= 5 and counted[other] > 4 * counted[tongue]
    return other if wholly or mostly else None


def foreign_phrases(phrases: tuple[str, ...], tongue: str) -> str | None:
    """As `foreign_tongue`, for lists of words and phrases, without the evidence of spelling."""
    counted = frequent_words(". ".join(phrases))
    if tongue not in SIGNS or counted[tongue]:
        return None
    other = max((name for name in SIGNS if name != tongue), key=lambda name: counted[name])
    return other if counted[other] >= 2 else None


AFFIRMATIVE = {"en": ("yes", "agree"), "es": ("sí", "de acuerdo"), "ca": ("sí", "d'acord")}
UNACCENTED = "si"
MANY = 10
"""Number of prompts from which the majority's language counts as the file's."""


def _languages(subject: Subject) -> Iterator[Finding]:
    """Texts (errors) and answers (warnings) in another language; one finding for a file mostly in another."""
    for language in subject.catalog.languages.values():
        for found in _foreign_formats(language):
            yield subject.on_entry("languages", language.id, found)
    misnamed = _files_in_another_language(subject.spoken)
    for (file, tag), (tongue, count) in misnamed.items():
        what = f"is declared as `{tag}`, and {count} of its prompts are {NAMES[tongue]}"
        remedy = "name the file's own language, with `--language` where its name cannot"
        yield Finding("error", Problem(what, file, remedy))
    for template in subject.spoken:
        tongue = template.language.partition("_")[0]
        if tongue in NAMES and (template.file, template.language) not in misnamed:
            texts = own_texts(template, subject.language(template))
            for found in (*_foreign_texts(template, tongue, texts), *_foreign_answers(template, tongue)):
                yield on_template(template, found)


def _foreign_formats(language: LanguageCatalog) -> Iterator[Found]:
    """Errors of named formats that are in another language."""
    tongue = language.id.partition("_")[0]
    for name, offered in language.formats.items():
        if other := foreign_tongue(offered.text, tongue):
            what = f"format `{name}` of `{language.id}` is {NAMES[other]}: `{shorten(offered.text)}`"
            yield error(what, f"write it in {NAMES[tongue]}", "formats", name)


def _files_in_another_language(templates: Iterable[Template]) -> dict[tuple[str, str], tuple[str, int]]:
    """By file and stated language: the other language that most prompts are in, and their number."""
    prompts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for template in templates:
        found = foreign_tongue(template.prompt, template.language.partition("_")[0])
        prompts[template.file, template.language][found or ""] += 1
    most = {key: counts.most_common(1)[0] for key, counts in prompts.items() if counts.total() >= MANY}
    return {key: found for key, found in most.items() if found[0]}


def _foreign_texts(template: Template, tongue: str, texts: Iterable[tuple[str, str]]) -> Iterator[Found]:
    for part, text in texts:
        other = foreign_tongue(text, tongue) if text and part != "choice" else None
        if other:
            what = f"is of `{template.language}`, and its {part} is {NAMES[other]}: `{shorten(text)}`"
            yield error(what, f"write it in {NAMES[tongue]}, or move the template to its language")


def _foreign_answers(template: Template, tongue: str) -> Iterator[Found]:
    expected = template.oracle.expected
    if template.oracle.answers != "listed" or not expected:
        return
    forms = {compared(value): value for value in reversed(expected)}
    if other := foreign_phrases(expected, tongue):
        what = f"expects answers in {NAMES[other]}: {list_names(expected, 3)}"
        yield warn(what, f"add those in {NAMES[tongue]}")
        return
    own = AFFIRMATIVE[tongue]
    strange = {word for name, words in AFFIRMATIVE.items() if name != tongue for word in words} - set(own)
    found = next((value for value in expected if compared(value) in strange), None)
    if found is not None and not set(own) & forms.keys():
        what = f"expects `{found}`, which is no answer in {NAMES[tongue]}"
        yield warn(what, f"expect {' or '.join(f'`{word.capitalize()}`' for word in own)}")
    if UNACCENTED in forms and tongue != "en" and "sí" not in forms:
        yield warn(f"expects `{forms[UNACCENTED]}`, and a model writes `Sí`", "write the accent")


LANGUAGE_RULE = Rule("catalog", _languages)
