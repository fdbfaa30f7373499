"""Finds errors in Catalan texts, such as `de el noi`, `de Alemanya`, `la edat`, `un dona`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biasgrid.catalogs.lint.language.predicates import CATALAN_PREDICATES, Slip, predicate_slips

CONTRACTED = re.compile(r"(?<![\w'’-])(de|a|per)\s+(els?)(?![\w'’-])", re.IGNORECASE)
CONTRACTIONS = {"de el": "del", "de els": "dels", "a el": "al", "a els": "als", "per el": "pel", "per els": "pels"}
VOWEL = "aeiouàèéíòóúïü"
ELIDED = re.compile(rf"(?<![\w'’-])(de|el|la)\s+(h?[{VOWEL}][\w·]+)", re.IGNORECASE)
GLIDE = re.compile(rf"h?[iu][{VOWEL}]", re.IGNORECASE)
"""Vowel letters pronounced as a consonant: el iogurt, de Iemen, la hiena."""
ASPIRATED = re.compile(r"h(?:all|obb|ong\b|awai|acker|ipp|ip\b|ockey|olding|amburg|aikú|ooligan)", re.IGNORECASE)
UNSTRESSED = re.compile(r"h?[iu]", re.IGNORECASE)
"""`la` is not elided before an unstressed i or u: la intel·ligència, la universitat, la història."""
STRESSED = re.compile(r"ill(?:a|es)\b|únic|últim|índi|úlcer|ungl|urn|ídol", re.IGNORECASE)
WHOLE_LA = ("una", "ira", "host", "asimetria", "anormalitat", "amoralitat", "essa", "efa", "ema", "ena", "erra")
BEFORE_CONSONANT = re.compile(r"(?<![\w'’])([dl])['’]([bcdfgjklmnpqrstvwxz][\w·]+)", re.IGNORECASE)
MALE = r"(?:homes?|nois?|senyors?|nens?|pare|fills?|germans?|veïns?|marits?|avis?|barris?|països|país|anys?)"
FEMALE = (
    r"(?:don(?:a|es)|noi(?:a|es)|senyor(?:a|es)|nen(?:a|es)|mares?|fill(?:a|es)|german(?:a|es)|person(?:a|es)|"
    r"famíli(?:a|es)|veïn(?:a|es)|empres(?:a|es)|escol(?:a|es)|parell(?:a|es))"
)
UN_FEMALE = re.compile(
    rf"(?<![\w'’-])(un|el|del|al|pel|aquest|aquell|algun|uns|dels|als|aquests)\s+({FEMALE})\b", re.IGNORECASE
)
UNA_MALE = re.compile(
    rf"(?<![\w'’-])(una|la|aquesta|aquella|alguna|unes|les|aquestes)\s+({MALE})\b", re.IGNORECASE
)
DEGREE = r"(?:(?:més|menys|molt|tan)\s+)?"
PERSON_MALE = re.compile(
    rf"\b(persona|dona)\s+{DEGREE}"
    r"(negre|blanc|asiàtic|llatí|gitano|africà|europeu|americà|xinès|vell|honest|violent|perillós|preparat|educat|"
    r"musulmà|cristià|jueu|ateu|catòlic|estranger|refugiat|discriminat|tractat|considerat|casat|contractat|acomiadat)"
    r"(?!\w)",
    re.IGNORECASE,
)
PERSONS_MALE = re.compile(
    rf"\b(persones|dones)\s+{DEGREE}"
    r"(blancs|asiàtics|llatins|gitanos|africans|europeus|americans|xinesos|vells|honestos|violents|perillosos|preparats|"
    r"educats|musulmans|cristians|jueus|ateus|catòlics|estrangers|refugiats|discriminats|tractats|considerats|casats|"
    r"contractats|acomiadats)(?!\w)",
    re.IGNORECASE,
)


def catalan_slips(text: str) -> Iterator[Slip]:
    """Errors of contraction, elision and gender in a text or a window of one."""
    for match in CONTRACTED.finditer(text):
        if not match[2][0].isupper():
            right = CONTRACTIONS[" ".join(match[0].lower().split())]
            yield Slip(match[0], f"write `{right}`", match.start())
    for match in ELIDED.finditer(text):
        if _elides(match[1].lower(), match[2]):
            short = "d'" if match[1].lower() == "de" else "l'"
            yield Slip(match[0], f"write `{short}{match[2]}`", match.start())
    for match in BEFORE_CONSONANT.finditer(text):
        if not match[2].isupper():
            yield Slip(match[0], "an apostrophe stands before a vowel only", match.start())
    for pattern, gender in ((UN_FEMALE, "feminine"), (UNA_MALE, "masculine")):
        for match in pattern.finditer(text):
            yield Slip(match[0], f"`{match[2]}` is {gender}", match.start())
    for match in (*PERSON_MALE.finditer(text), *PERSONS_MALE.finditer(text)):
        yield Slip(match[0], f"`{match[1]}` is feminine, and so must `{match[2]}` be", match.start())
    yield from predicate_slips(text, CATALAN_PREDICATES)


def _elides(word: str, following: str) -> bool:
    if following in ("el", "els") or following.isupper() or GLIDE.match(following) or ASPIRATED.match(following):
        return False
    if word != "la":
        return True
    if following.lower() in WHOLE_LA:
        return False
    return not UNSTRESSED.match(following) or STRESSED.match(following) is not None
