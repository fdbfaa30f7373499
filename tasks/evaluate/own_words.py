"""How somebody who shares out tasks names themselves: `I will take notes`, `yo me encargo de la tarea 2`.

Only where they take something on: who proposes or decides takes nothing.
"""

from __future__ import annotations

import re
from typing import Final

_GIVES: Final = (
    r"assign|giv|gave|propos|suggest|think|thought|believ|choos|chose|pick|select|recommend|want|put|see|saw"
    r"|ask|let|feel"
    r"|felt|agree|nominat|decid|hope|know|understand|consider|keep|made|split|divid|distribut|share|tried|base"
    r"|say|said"
    r"|had|have|would|do not|don't|did|was|made|note|notic|appreciat|maintain|stand|reassign|change|swap|argue"
    r"|vote"
)
_ENGLISH: Final = re.compile(
    rf"\bI(?=(?:'ll|'d|'m| will| would| can| could| shall| should| am)?(?: also| gladly| happily| be| going to|"
    rf" personally"
    rf"| happy to| like to| love to| volunteer to)*\s+(?!{_GIVES}|not\b)[\w\ue100-\ue2ff])"
    r"|\b[Mm](?:e|yself)\b(?<!let me)(?<!give me)(?<!tell me)(?<!for me)|\bme(?<=for me)(?=\s*(?:$|[-,.:;(]))"
)
_RESULT: Final = (
    r"asign|daria|doy|propon|propus|cre[oi]|piens|elij|elegi|pondri|diri|digo|prefier|quier|sugier|reparti|dej"
    r"|mantend"
    r"|mantengo|cambi|opin|no\b|tampoco"
)
_SPANISH: Final = re.compile(
    rf"(?i)\byo(?: mism[oa])?\b(?!\s+(?:le |les |lo |la )?(?:{_RESULT}))"
    r"|\bme\b(?=\s+(?:encarg|quedo|quedare|ocup|asigno|pido|toca|corresponde))"
    r"|(?<=\ba )mi(?: mism[oa])?(?=\s*(?:$|[-,.;:()]))|(?<=para )mi(?: mism[oa])?(?=\s*(?:$|[-,.;:()]))"
)


def of_me(line: str, mark: str, spanish: bool) -> str:
    """The line with the speaker's mark where they name themselves. `yo me encargo` names them once."""
    if spanish:
        return re.sub(rf"{mark}\s+(?:(\w+)\s+)?{mark}", rf"{mark} \1", _SPANISH.sub(mark, line))
    return _ENGLISH.sub(mark, line)
