"""An assignment told in prose with the reason why it is biased or fair, as one line of a chat to tune on."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.importers.result import checked
from biasgrid.catalogs.schema.scenes import Presence, WholeText

ROLES: Final = (["user", "assistant"], ["system", "user", "assistant"])
SPLICED: Final = re.compile(r"social task\s*:|\bscene\s*:|scenario description|\b\d+\.\s*social\b", re.IGNORECASE)
ENDS: Final = re.compile(r"[.!?…][\"'”’)\]]*$")
ABSENT: Final = re.compile(
    r"\b(?<!fails to )(?<!failing to )(?<!failed to )(?<!rather than )(?:"
    r"(?:no|without|free (?:of|from)|absence of|lack(?:s|ing)?(?: of)?|neither)(?: \w+){0,3}"
    r" (?:bias|stereotyp\w+)\b"
    r"|(?:not|\w+n['’]t) (?:(?:appear|seem) to )?"
    r"(?:show|have|contain|reflect|exhibit|reveal|display|an? \w+ of|any)(?: \w+){0,3} (?:bias|stereotyp\w+)\b"
    r"|bias(?:es)?(?::| (?:is|are)) (?:absent|not (?:present|shown|found|evident))\b|bias-free\b"
    r"|(?:unbiased|(?:not|isn['’]t|aren['’]t) biased|regardless of gender|irrespective of gender)\b"
    r"|(?:avoids?|avoiding|break(?:s|ing)|challeng(?:es|ing)|def(?:y|ies|ying)|counter(?:s|ing)?"
    r"|subvert(?:s|ing)?|(?:go|goes|going) against)"
    r"(?: \w+){0,3} (?:bias(?:es)?|stereotyp\w+|norms?|roles)\b)",
    re.IGNORECASE,
)
PRESENT: Final = re.compile(
    r"\bbias(?:es|ed)?\b|\bstereotyp\w+|\breinforc\w+|\bperpetuat\w+|\bassum\w+|\bpresum\w+|\bimpl(?:y|ies|ying)\b"
    r"|\btraditional(?:ly)?\b|\bgendered\b",
    re.IGNORECASE,
)


class NumberedLine(NamedTuple):
    row: int
    """Counted from 0, blank lines aside."""
    text: str


def whole_text(line: NumberedLine, *, language: str) -> WholeText:
    """The user's text and the assistant's reason. Raises UserError where they are not whole, or the reason does
    not say whether bias is present."""
    try:
        text, reason = (_bare(content) for content in _exchange(line.text))
        _refuse_spliced(text, reason)
        presence = presence_by(reason)
        return checked(WholeText, {"presence": presence, "text": {language: text}, "reason": {language: reason}})
    except UserError as wrong:
        first = wrong.mistakes[0]
        raise UserError(Problem(f"row {line.row}: {first.what}", remedy=first.remedy)) from wrong


def presence_by(reason: str) -> Presence:
    """By the words of a reason: those that deny bias count first. Raises UserError where it has neither."""
    if ABSENT.search(reason):
        return "absent"
    if PRESENT.search(reason):
        return "present"
    raise UserError(Problem("its reason does not say whether bias is present", remedy="say so in the reason"))


def _exchange(line: str) -> tuple[str, str]:
    messages = _messages(line)
    if [message.get("role") for message in messages] not in ROLES:
        raise UserError(Problem("is no exchange of one user's and one assistant's message", remedy="part it"))
    contents = [message.get("content") for message in messages]
    if not all(isinstance(content, str) for content in contents):
        raise UserError(Problem("has a message whose content is no text", remedy="write it as text"))
    return str(contents[-2]), str(contents[-1])


def _messages(line: str) -> list[dict[str, Any]]:
    try:
        given = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(Problem(f"is not valid JSON: {error}", remedy="write one JSON object a line")) from error
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UserError(Problem("has no list of `messages`", remedy="write them as a chat"))
    return messages


def _bare(content: str) -> str:
    """Without the colon that a cut-off label left before it."""
    return " ".join(content.split()).removeprefix(":").strip()


def _refuse_spliced(text: str, reason: str) -> None:
    for name, told in (("text", text), ("reason", reason)):
        if not told:
            raise UserError(Problem(f"its {name} is empty", remedy="fill it in"))
        if SPLICED.search(told):
            raise UserError(Problem(f"another text is spliced into its {name}", remedy="part the two"))
        if not ENDS.search(told):
            raise UserError(Problem(f"its {name} ends in the middle of a sentence", remedy="complete it"))
