"""Tasks told in prose, as a study's test scenes have them: two sentences, the first of what stereotypes give to
men, the second of what they give to women, each of two tasks joined by one `and`.

Nothing else is taken apart: a sentence that more than one `and` could part is refused.
"""

from __future__ import annotations

import re
from typing import Final

from catalogs.importers.scene_text import one_line
from catalogs.mistakes import Mistake, UserMistake

SENTENCES: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
JOINTS: Final = (", and ", " and ")
"""A comma before it tells the one that parts the tasks from those within one."""
ASIDE: Final = re.compile(
    r"^(?:meanwhile|additionally|concurrently|simultaneously|also|at the same time|in the meantime),?\s+",
    re.IGNORECASE,
)


def prose_tasks(text: str) -> tuple[str, ...]:
    """Four tasks in the order of the text. Raises UserMistake where it is not told so."""
    sentences = SENTENCES.split(one_line(text))
    if len(sentences) != 2:
        what = f"tells its tasks in {len(sentences)} sentences of prose, not in two"
        raise UserMistake(Mistake(what, remedy="list them at its end, behind a colon: `1.`, `2.`"))
    return tuple(task for number, sentence in enumerate(sentences, 1) for task in _parted(number, sentence))


def _parted(number: int, sentence: str) -> tuple[str, str]:
    bare = ASIDE.sub("", sentence).rstrip(" .!?")
    for joint in JOINTS:
        if bare.count(joint) == 1:
            first, _, second = bare.partition(joint)
            return _begun(first), _begun(second)
    what = f"does not tell two tasks apart in its sentence {number}: no `and`, or several, could part them"
    raise UserMistake(Mistake(what, remedy="list the tasks at its end, behind a colon: `1.`, `2.`"))


def _begun(task: str) -> str:
    told = task.strip(" ,")
    return told[:1].upper() + told[1:]
