"""Finds errors in Spanish and Catalan texts, such as `de el hombre`, `un dona`, `los hombres son violentas`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """An error: `found` is the text as written, `remedy` the correction, `start` its offset."""

    found: str
    remedy: str
    start: int = 0


Patterns = Iterable[tuple[re.Pattern[str], str]]
"""Patterns with remedies, in which `{1}` or `{name}` stands for a group of the match."""


def match_slips(text: str, patterns: Patterns) -> Iterator[Slip]:
    """An error for every match of a pattern in a text."""
    for pattern, remedy in patterns:
        for match in pattern.finditer(text):
            yield Slip(match[0], remedy.format(match[0], *match.groups(), **match.groupdict()), match.start())


INNER = r"(?:\s+(?!(?:y|e|o|u|i|ni|que|con|amb|para|per|a|en|más|més|menos|menys|tan|son|són)\b)[\w·'’]+){0,3}?"
"""What may stand between noun and verb: `de 20 años`, `no binarias`; not a second noun."""

CLAUSE = r"(?:(?<=[¿¡«])|(?<=que\s)|(?<=si\s)|(?<![\w'’-])(?=[A-ZÀ-Ý]))"
"""Start of a clause, where a subject or its verb can stand; not in `contra las personas`."""


@dataclass(frozen=True, slots=True)
class _Tongue:
    """Patterns of a language's nouns and endings, by gender."""

    nouns: Mapping[str, str]
    endings: Mapping[str, str]
    verb: str
    degree: str
    neutral: str


SPANISH_NOUNS = _Tongue(
    nouns={
        "m": r"(?:hombres?|chicos?|niños?|señor(?:es)?)",
        "f": r"(?:mujer(?:es)?|chicas?|niñas?|señoras?|personas?)",
    },
    endings={"m": r"\w{3,}os?", "f": r"\w{3,}as?"},
    verb=r"(?:son|es|están|está|sean|sea|eran|era|fueron|fue|parecen|parece)",
    degree=r"(?:más|menos|tan|muy|igual\s+de|demasiado|bastante)",
    neutral=r"(?:\w{2,}istas?|idiotas?|hipócritas?|indígenas?|como|cuando|mucho|poco|tanto|menos|quienes|una|ellas?|ellos)",
)
CATALAN_NOUNS = _Tongue(
    nouns={
        "m": r"(?:homes?|nois?|nens?|senyors?)",
        "f": r"(?:don(?:a|es)|noi(?:a|es)|nen(?:a|es)|senyor(?:a|es)|person(?:a|es))",
    },
    endings={
        "m": r"\w{2,}(?:ats?|its?|uts?|ós|osos|ius?|à|ans|ics?|[aeo]gs|orts?)",
        "f": r"\w{2,}(?:ad(?:a|es)|id(?:a|es)|ud(?:a|es)|os(?:a|es)|iv(?:a|es)|an(?:a|es)|ic(?:a)|iques)",
    },
    verb=r"(?:són|és|estan|està|siguin|sigui|eren|era|semblen|sembla)",
    degree=r"(?:més|menys|tan|molt|igual\s+de|massa|força)",
    neutral=r"(?:capacitat|necessitat|veritat|mitat|edat|seguretat|gran)",
)


def _predicates(tongue: _Tongue) -> Iterator[tuple[re.Pattern[str], str]]:
    """Patterns with an adjective of another gender than its noun."""
    for gender, other, name in (("m", "f", "masculine"), ("f", "m", "feminine")):
        noun = rf"\b(?P<noun>{tongue.nouns[gender]}){INNER}"
        adjective = rf"(?!{tongue.neutral}\b)(?P<adjective>{tongue.endings[other]})(?![\w'’·])"
        article = r"(?:\w{1,6}\s+|l['’])?"
        asked = rf"{tongue.verb}\s+{article}{noun}\s+{tongue.degree}\s+{adjective}"
        stated = rf"{article}{noun}\s+(?:no\s+)?{tongue.verb}\s+{tongue.degree}\s+{adjective}"
        for pattern in (asked, stated):
            yield re.compile(rf"{CLAUSE}(?i:{pattern})"), f"`{{noun}}` is {name}: use a word that shows no gender"


FEMININE, MASCULINE = "`{2}` is feminine", "`{2}` is masculine"
MUST_BE_FEMININE, MUST_BE_MASCULINE = (
    f"`{{1}}` is {gender}, and so must `{{2}}` be" for gender in ("feminine", "masculine")
)


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


SPANISH_MALE = (
    r"(?:hombres?|chicos?|señor(?:es)?|niños?|padre|hijos?|hermanos?|varones|varón|vecinos?|alumnos?|maridos?|"
    r"abuelos?|pisos?|barrios?|países|país|años?|sueldos?)"
)
SPANISH_FEMALE = (
    r"(?:mujer(?:es)?|chicas?|señoras?|niñas?|madres?|hijas?|hermanas?|personas?|familias?|vecinas?|alumnas?|"
    r"esposas?|abuelas?|empresas?|escuelas?|viviendas?|parejas?)"
)
STEMS = (
    "negr|blanc|asiátic|latin|hispan|mestiz|gitan|african|europe|american|chin|rus|viej|honest|list|tont|perezos|"
    "violent|peligros|capacitad|preparad|educad|cristian|judí|ate|católic|extranjer|refugiad|discriminad|tratad|"
    "considerad|casad|solter|contratad|despedid"
)
DEGREE = r"(?:(?:más|menos|muy|tan)\s+)?"
SPANISH: Patterns = (
    (re.compile(r"(?<![\w-])[Dd]e\s+el(?![\w-])"), "write `del`"),
    (re.compile(r"(?<![\w-])[Aa]\s+el(?![\w-])"), "write `al`"),
    (
        _any_case(
            rf"(?<![\w-])(un|el|del|al|este|ese|aquel|algún|ningún|unos|los|estos|esos)\s+({SPANISH_FEMALE})\b"
        ),
        FEMININE,
    ),
    (
        _any_case(rf"(?<![\w-])(una|la|esta|esa|aquella|alguna|ninguna|unas|las|estas|esas)\s+({SPANISH_MALE})\b"),
        MASCULINE,
    ),
    (_any_case(rf"\b(personas?|mujer(?:es)?)\s+{DEGREE}((?:{STEMS})os?)\b"), MUST_BE_FEMININE),
    (_any_case(rf"\b(hombres?)\s+{DEGREE}((?:{STEMS})as?)\b"), MUST_BE_MASCULINE),
    (_any_case(r"(?<![\w¿-])y\s+h?i(?![aeou])\w+"), "write `e` before this sound"),
    (_any_case(r"(?<![\w¿-])o\s+h?o\w+"), "write `u` before this sound"),
    *_predicates(SPANISH_NOUNS),
)


def spanish_slips(text: str) -> Iterator[Slip]:
    """Errors of contraction, gender and conjunction in a text or a window of one."""
    return match_slips(text, SPANISH)


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
CATALAN_MALE = (
    r"(?:homes?|nois?|senyors?|nens?|pare|fills?|germans?|veïns?|marits?|avis?|barris?|països|país|anys?)"
)
CATALAN_FEMALE = (
    r"(?:don(?:a|es)|noi(?:a|es)|senyor(?:a|es)|nen(?:a|es)|mares?|fill(?:a|es)|german(?:a|es)|person(?:a|es)|"
    r"famíli(?:a|es)|veïn(?:a|es)|empres(?:a|es)|escol(?:a|es)|parell(?:a|es))"
)
ADJECTIVES = (
    "negre|blanc|asiàtic|llatí|gitano|africà|europeu|americà|xinès|vell|honest|violent|perillós|preparat|"
    "educat|musulmà|cristià|jueu|ateu|catòlic|estranger|refugiat|discriminat|tractat|considerat|casat|"
    "contractat|acomiadat"
)
PLURAL_ADJECTIVES = (
    "blancs|asiàtics|llatins|gitanos|africans|europeus|americans|xinesos|vells|honestos|violents|perillosos|"
    "preparats|educats|musulmans|cristians|jueus|ateus|catòlics|estrangers|refugiats|discriminats|tractats|"
    "considerats|casats|contractats|acomiadats"
)
CATALAN_DEGREE = r"(?:(?:més|menys|molt|tan)\s+)?"
CATALAN_CONTRACTIONS: Patterns = tuple(
    (re.compile(rf"(?<![\w'’-])(?i:{word})\s+e(?i:{article[1:]})(?![\w'’-])"), f"write `{right}`")
    for (word, article), right in ((written.split(), right) for written, right in CONTRACTIONS.items())
)
CATALAN: Patterns = (
    (
        _any_case(
            rf"(?<![\w'’-])(un|el|del|al|pel|aquest|aquell|algun|uns|dels|als|aquests)\s+({CATALAN_FEMALE})\b"
        ),
        FEMININE,
    ),
    (_any_case(rf"(?<![\w'’-])(una|la|aquesta|aquella|alguna|unes|les|aquestes)\s+({CATALAN_MALE})\b"), MASCULINE),
    (_any_case(rf"\b(persona|dona)\s+{CATALAN_DEGREE}({ADJECTIVES})(?!\w)"), MUST_BE_FEMININE),
    (_any_case(rf"\b(persones|dones)\s+{CATALAN_DEGREE}({PLURAL_ADJECTIVES})(?!\w)"), MUST_BE_FEMININE),
    *_predicates(CATALAN_NOUNS),
)


def catalan_slips(text: str) -> Iterator[Slip]:
    """Errors of contraction, elision and gender in a text or a window of one."""
    yield from match_slips(text, CATALAN_CONTRACTIONS)
    for match in ELIDED.finditer(text):
        if _elides(match[1].lower(), match[2]):
            short = "d'" if match[1].lower() == "de" else "l'"
            yield Slip(match[0], f"write `{short}{match[2]}`", match.start())
    for match in BEFORE_CONSONANT.finditer(text):
        if not match[2].isupper():
            yield Slip(match[0], "an apostrophe stands before a vowel only", match.start())
    yield from match_slips(text, CATALAN)


def _elides(word: str, following: str) -> bool:
    if following in ("el", "els") or following.isupper() or GLIDE.match(following) or ASPIRATED.match(following):
        return False
    if word != "la":
        return True
    if following.lower() in WHOLE_LA:
        return False
    return not UNSTRESSED.match(following) or STRESSED.match(following) is not None
