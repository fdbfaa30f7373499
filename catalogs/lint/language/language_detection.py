"""Which language a text is in, by words and spellings that the others do not have.

No guess is made of a short text: two signs of another language, and none of its own, are the least.
"""

from __future__ import annotations

import re
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """The words of a list."""
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
"""Frequent words; those that two of the languages share say nothing of either, and are left out of the count."""
SPELLINGS = {
    "es": re.compile(r"ñ|\w+(?:ción|ciones|dad|dades)\b|¿(?=\w)"),
    "ca": re.compile(
        r"·|ç|\w*[àèò]\w*|\w+(?:ció|cions|itat|itats)\b|(?<!\w)[dlmnst]['’][^\W\d_]|\w+['’](?:n|ls|hi|ho)\b|\w*ny\w*"
    ),
    "en": re.compile(r"\w+(?:ing|tion|ness|ly)\b|\w+n['’]t\b|\w+['’](?:s|re|ve|ll)\b|\bw\w+|\w*(?:th|sh|ck)\w*"),
}
WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:['’][^\W\d_]+)?")
"""Not what hangs on a hyphen: Catalan `tractar-los` is no Spanish `los`."""
QUOTED = re.compile(r"\"[^\"]*\"|«[^»]*»|“[^”]*”|\{[^{}]*\}")
FEW_WORDS = 3
READ = 4_000
"""Characters of a text that are read: as many as say what it is in."""
NAMES = {"en": "English", "es": "Spanish", "ca": "Catalan"}


def _alone(tongue: str) -> frozenset[str]:
    """The words that no other language here has."""
    others = frozenset().union(*(words for name, words in SIGNS.items() if name != tongue))
    return SIGNS[tongue] - others


ALONE = {tongue: _alone(tongue) for tongue in SIGNS}


@lru_cache(maxsize=8192)
def frequent_words(text: str) -> dict[str, int]:
    """How many different words that no other language has a text holds; what it quotes is left out."""
    told = QUOTED.sub(" ", text[:READ])
    found = {word.lower().replace("’", "'") for word in WORD.findall(told) if word != "I"}
    return {tongue: len(found & alone) for tongue, alone in ALONE.items()}


@lru_cache(maxsize=8192)
def signs(text: str) -> dict[str, int]:
    """As `frequent_words`, and words whose spelling no other language has."""
    counted = dict(frequent_words(text))
    told = QUOTED.sub(" ", text[:READ]).lower()
    for tongue, pattern in SPELLINGS.items():
        counted[tongue] += len(set(pattern.findall(told)) - ALONE[tongue])
    return counted


def foreign_tongue(text: str, tongue: str) -> str | None:
    """The language that a text is in, where it is plainly not `tongue`; None where it may be."""
    if tongue not in SIGNS or len(WORD.findall(QUOTED.sub(" ", text[:READ]))) < FEW_WORDS:
        return None
    counted, plain = signs(text), frequent_words(text)
    other = max((name for name in SIGNS if name != tongue), key=lambda name: counted[name])
    wholly = counted[other] >= 2 and plain[other] >= 1 and counted[tongue] == 0
    mostly = plain[other] >= 5 and counted[other] > 4 * counted[tongue]
    return other if wholly or mostly else None


def foreign_phrases(phrases: tuple[str, ...], tongue: str) -> str | None:
    """As `foreign_tongue`, for a list of words and phrases, of which spelling says too little."""
    counted = frequent_words(". ".join(phrases))
    if tongue not in SIGNS or counted[tongue]:
        return None
    other = max((name for name in SIGNS if name != tongue), key=lambda name: counted[name])
    return other if counted[other] >= 2 else None
