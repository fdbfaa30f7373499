"""Checks the grammar of every wording with every community; of foreign tables, only the template's own words."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from biasgrid.catalogs.lint.language.rendering import Rendered, render_window, windows
from biasgrid.catalogs.lint.language.romance import (
    CATALAN_FEMALE,
    CATALAN_MALE,
    SPANISH_FEMALE,
    SPANISH_MALE,
    Slip,
    catalan_slips,
    match_slips,
    spanish_slips,
)
from biasgrid.catalogs.lint.subject import Found, Rule, Subject, in_table, own_texts, warn
from biasgrid.catalogs.schema.entries import Community, CommunitySet, Template
from biasgrid.catalogs.wording import SLOT

ARTICLE = re.compile(r"(?<![\w'’-])([Aa]n?)\s+[\"“'‘«(]?([A-Za-zÀ-ÿ0-9][\w'’-]*)")
AN_THOUGH = re.compile(r"hour|honest|honor|honour|heir|[fhlmnrsx]-", re.IGNORECASE)
A_THOUGH = re.compile(
    r"one(?![a-z])|once|eu|ewe|u[bcfhjkqrstv][aeiou]|unanim|ukrain|ui?y?ghur|uni(?![nm]|dent|deal)", re.IGNORECASE
)
"""Initial vowel letter but consonant sound: a European, a university, a one-way street, a useful tool."""
SPELT_AN = "AEFHILMNORSX"
VERB = "the verb must be plural"
PLURALS = (
    (
        re.compile(
            r"(?<![\w'’-])(an?|one|each|every)\s+((?:[\w-]+\s+)?(?:women|men|children|persons))(?!['’\w-])",
            re.IGNORECASE,
        ),
        "a plural takes no such word",
    ),
    (re.compile(r"^(?:Is|Was|Does|Has)\s+((?:wo)?men|children|\w+\s+people)\b(?!['’])"), VERB),
)
PLURAL_SUBJECT = (
    (
        re.compile(
            r"(?<![\w'’-])((?:wo)?men|children|persons|(?:old|young|poor|rich|black|white|asian)\s+people)"
            r"\s+(is|was|has|does)\b(?!\s+not\s+a\b)",
            re.IGNORECASE,
        ),
        VERB,
    ),
)
"""A singular verb after a plural subject, an error at the start of a sentence."""


def english_slips(text: str) -> Iterator[Slip]:
    """Errors of article and number in a text or a window of one."""
    for match in ARTICLE.finditer(text):
        if _is_article(text, match) and _is_wrong_article(match[1].lower(), match[2]):
            right = "a" if match[1].lower() == "an" else "an"
            yield Slip(match[0], f"write `{right} {match[2]}`", match.start())
    yield from match_slips(text, PLURALS)
    for slip in match_slips(text, PLURAL_SUBJECT):
        if not text[: slip.start].strip() or re.search(r"[.?!]\s+$", text[: slip.start]):
            yield slip


def _is_article(text: str, match: re.Match[str]) -> bool:
    """Whether `a` is an article, unlike the letter in `vitamin A is` or `A or B`."""
    if match[2].lower() in ("and", "or", "is", "in"):
        return False
    if match[1] != "A":
        return True
    before = text[: match.start()].rstrip(" \"“'‘«(")
    return not before or before[-1] in ".?!:;…"


def _is_wrong_article(article: str, word: str) -> bool:
    sounds = _starts_with_vowel(word)
    return sounds is not None and sounds != (article == "an")


def _starts_with_vowel(word: str) -> bool | None:
    """Whether a word starts with a vowel sound; None if it cannot be determined."""
    if word[0].isdigit():
        number = re.match(r"\d+", word)
        return word[0] == "8" or (number is not None and number[0] in ("11", "18"))
    letters = re.split(r"[^A-Za-zÀ-ÿ]", word)[0]
    if len(letters) > 1 and letters.isupper():
        return None if len(letters) > 3 or letters[0] == "U" else letters[0] in SPELT_AN
    if len(letters) == 1:
        return None if letters.isupper() and letters in "U" else word[0].upper() in SPELT_AN
    if AN_THOUGH.match(word):
        return True
    return word[0].lower() in "aeiouàáèéìíòóùú" and not A_THOUGH.match(word)


SINGULAR_VERBS = {
    "en": "is|was|does|has|isn't|doesn't",
    "es": "es|está|tiene|puede|debe|debería|merece|suele|sabe|roba|miente",
    "ca": "és|està|té|pot|ha|hauria|mereix|sol|sap|roba|menteix",
}
PLURAL_VERBS = {
    "en": "are|were|do|have|aren't|don't",
    "es": "son|están|tienen|pueden|deben|deberían|merecen|suelen|saben|roban|mienten",
    "ca": "són|estan|tenen|poden|han|haurien|mereixen|solen|saben|roben|menteixen",
}
NUMBERS = (
    (("plural", "article_plural"), "plural", SINGULAR_VERBS),
    (("singular", "person", "article_singular"), "singular", PLURAL_VERBS),
)
"""Forms of each number, and the verbs that do not agree with them."""
JOINED = re.compile(r"\s*(?:,|and|or|y|e|o|u|i|ni|nor)\b", re.IGNORECASE)
NOUNS = {"es": (SPANISH_FEMALE, SPANISH_MALE), "ca": (CATALAN_FEMALE, CATALAN_MALE)}
ADJECTIVE = re.compile(r"adjective_([mf])([sp])")
MAY_BEGIN = re.compile(r"(?:^|[.?!…:;\n]|[¿¡«\"“‘(\[—–/-])\s*$")


def disagreements(text: str, language: str) -> Iterator[Slip]:
    """Errors between slot and neighbours: `Is {GENDER:plural} …`, `personas {COUNTRY:adjective_ms}`."""
    tongue = language.partition("_")[0]
    for slot in SLOT.finditer(text):
        form = slot["form"] or ""
        if tongue in PLURAL_VERBS and not JOINED.match(text, slot.end()):
            for forms, number, verbs in NUMBERS:
                if form.lower() in forms:
                    yield from _verb_slips(text, slot, verbs[tongue], number)
        if tongue in NOUNS and ADJECTIVE.fullmatch(form):
            yield from _noun_slips(text, slot, form, tongue)
        if form[:1].isupper() and not MAY_BEGIN.search(text[: slot.start()]):
            right = f"{{{slot['markup']}{slot['number']}:{form.lower()}}}"
            yield Slip(slot[0], f"a capital within a sentence: write `{right}`", slot.start())


def _verb_slips(text: str, slot: re.Match[str], verbs: str, number: str) -> Iterator[Slip]:
    """The verb of the wrong number at the start of a question before a form, or after an initial form."""
    remedy = f"the form is {number}, and so must the verb be"
    before = re.search(rf"(?:^|[.?!:]\s+|¿|«|\")({verbs})\s+$", text[: slot.start()], re.IGNORECASE)
    if before:
        yield Slip(f"{before[1]} {slot[0]}", remedy, before.start())
    if re.search(r"(?:^|[.?!]\s+)[¿«\"]*$", text[: slot.start()]):
        after = re.match(rf"\s+(?:no\s+|not\s+)?({verbs})\b", text[slot.end() :])
        if after:
            yield Slip(f"{slot[0]} {after[1]}", remedy, slot.start())


def _noun_slips(text: str, slot: re.Match[str], form: str, tongue: str) -> Iterator[Slip]:
    asked = ADJECTIVE.fullmatch(form)
    for gender, nouns in zip("fm", NOUNS[tongue], strict=True):
        noun = re.search(rf"(?<!\w)({nouns})\s+$", text[: slot.start()], re.IGNORECASE)
        if noun and asked:
            number = "p" if noun[1].lower().endswith("s") and noun[1].lower() != "país" else "s"
            if (asked[1], asked[2]) != (gender, number):
                slot_asked = f"{{{slot['markup']}{slot['number']}:adjective_{gender}{number}}}"
                yield Slip(f"{noun[1]} {slot[0]}", f"write `{slot_asked}`", noun.start())


SLIPS: Mapping[str, Callable[[str], Iterator[Slip]]] = {
    "en": english_slips,
    "es": spanish_slips,
    "ca": catalan_slips,
}


@lru_cache(maxsize=1 << 16)
def _slips_in(text: str, language: str) -> tuple[Slip, ...]:
    """Errors in a text, cached because templates share texts."""
    tongue = language.partition("_")[0]
    return tuple(SLIPS[tongue](text)) if tongue in SLIPS else ()


def _grammar(template: Template, subject: Subject) -> Iterator[Found]:
    """Grammar findings on texts as written and on texts with communities filled in."""
    texts = [*own_texts(template, subject.language(template))]
    for part, text in texts:
        yield from _as_written(template.language, part, text)
    if not in_table(template):
        for part, text in texts:
            yield from _in_instances(template.language, part, text, subject.communities)


def _as_written(language: str, part: str, text: str) -> Iterator[Found]:
    """Errors of a text; of overlapping ones, only the first."""
    end = 0
    for slip in sorted(_slips_in(SLOT.sub("\u2026", text), language), key=lambda slip: slip.start):
        if slip.start >= end:
            yield warn(f"has `{slip.found}` in its {part}", slip.remedy)
            end = slip.start + len(slip.found)


def _in_instances(
    language: str, part: str, text: str, sets: Mapping[str, tuple[Community, ...]]
) -> Iterator[Found]:
    """Errors between a form and its neighbours, one finding per place with a form."""
    clashes = list(disagreements(text, language))
    for slip in clashes:
        yield warn(f"has `{slip.found}` in its {part}", slip.remedy)
    for window in windows(text) if not clashes else ():
        filled = list(render_window(window, sets, language))
        slips = [(each, slip) for each in filled for slip in _slips_of_form(each, language)]
        if slips:
            first, slip = slips[0]
            wrong = len({each.text for each, _ in slips})
            share = f"{wrong} of {len(filled)} instances" if len(filled) > 1 else "its instance"
            what = f"would have `{slip.found}` in its {part}, in {share}: `{' '.join(first.text.split())}`"
            yield warn(what, slip.remedy)


def _slips_of_form(each: Rendered, language: str) -> Iterator[Slip]:
    """Errors that involve a form; those between two words of the text are reported for the text."""
    for slip in _slips_in(each.text, language):
        if slip.start + len(slip.found) > each.start:
            yield slip
    form = each.text[each.start :]
    if each.opens and form[:1].islower():
        yield Slip(form.split()[0], "begin the sentence with a capital: `{MARKUP:Form}`", each.start)


def _forms(found: CommunitySet, _: Subject) -> Iterator[Found]:
    """Errors within a form itself, such as `a Asian person`."""
    for number, community in enumerate(found.communities):
        for language, forms in community.forms.items():
            for name, form in forms.items():
                for slip in _slips_in(form, language):
                    what = f"form `{name}` of community `{community.id}` has `{slip.found}`"
                    yield warn(what, slip.remedy, "communities", number, "forms", language, name)


GRAMMAR_RULES = (Rule("communities", _forms), Rule("spoken", _grammar))
