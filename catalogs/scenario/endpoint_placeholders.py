"""What is filled in where an endpoint is asked: `{message}` and the like, in its address, headers and body."""

from __future__ import annotations

import re
from collections.abc import Callable

MESSAGE, SYSTEM, HISTORY, EARLIER = "message", "system", "history", "earlier"
SESSION, MODEL = "session", "model"
PARAMETERS = ("temperature", "max_tokens", "seed")
LISTS = (HISTORY, EARLIER)
KNOWN = (MESSAGE, SYSTEM, HISTORY, EARLIER, SESSION, MODEL, *PARAMETERS)
"""message: what was said last; system: the system message, if there is one; history: everything said, a list of
`role` and `content`, the system message first; earlier: the same without what was said last; session: the
conversation's id; model: the endpoint's name; parameters, where they are set."""

PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}|(?<!\$)\{([a-z_]+)\}")
"""Doubled braces write a name in single ones; braces around anything else stand for themselves."""
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable, `${MY_BOT_KEY}`."""


def placeholders(text: str) -> tuple[str, ...]:
    """The names that a text asks for, each once, in their order."""
    return tuple(dict.fromkeys(found[2] for found in PLACEHOLDER.finditer(text) if found[2]))


def only(text: str) -> str | None:
    """The name, where a text is one placeholder and nothing else."""
    found = PLACEHOLDER.fullmatch(text)
    return found[2] if found else None


def filled(text: str, value: Callable[[str], str]) -> str:
    """The text with `value(name)` in the place of each placeholder. What is filled in is not looked through."""
    return PLACEHOLDER.sub(lambda found: value(found[2]) if found[2] else f"{{{found[1]}}}", text)


def variables(text: str) -> tuple[str, ...]:
    """The environment variables that a text names, each once, in their order."""
    return tuple(dict.fromkeys(VARIABLE.findall(text)))
