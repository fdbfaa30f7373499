"""Pages of HTML: one file each, nothing fetched, no script, and what models said never markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tasks.aggregate.files import write_text
from tasks.aggregate.languages import LANGUAGES, words

LONGEST = 4_000
"""Signs of a text that are shown: what goes on for pages is told of, and lies in the lake."""
HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
"""Control and format characters, by which a text could hide what it says or change in what order it is read."""
WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Said:
    """A text as a page shows it: its beginning, and how many signs it has in all."""

    text: str
    signs: int

    @classmethod
    def of(cls, text: str | None) -> Said | None:
        return None if text is None else cls(text[:LONGEST], len(text))

    @property
    def left_out(self) -> int:
        return self.signs - len(self.text)


@dataclass(frozen=True, slots=True)
class Speech:
    """How pages of a language say things: its texts are ours, and whatever is filled in is escaped."""

    language: str

    def text(self, key: str, /, **given: object) -> Markup:
        """Raises KeyError for a text that the language does not have, and where something is not given."""
        return Markup(words(self.language)[key]).format(**given)  # noqa: S704 - escapes what is given

    def counted(self, count: int, what: str) -> Markup:
        return self.text(f"{what}.{'one' if count == 1 else 'other'}", n=self.figures(f"{count:,}"))

    def worded(self, value: object, kind: str = "value") -> Markup:
        """A value of the warehouse; one that only a catalog knows is shown as it is."""
        key = f"{kind}.{value}"
        return self.text(key) if key in words(self.language) else plain(value)

    def figures(self, number: str) -> str:
        """A number as the language writes it, of one as Python does."""
        signs = {",": "thousands", ".": "point", "%": "percent"}
        return number.translate({ord(sign): self.text(f"number.{name}") for sign, name in signs.items()})

    def writing(self, write: Callable[[float | None], str]) -> Callable[[float | None], str]:
        return lambda value: self.figures(write(value))


class Beside(Protocol):
    """A run before or after that of a page."""

    @property
    def href(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def moment(self) -> str: ...


class Ways(Protocol):
    """Where the pages of other runs lie, from a page of one."""

    @property
    def home(self) -> str: ...
    @property
    def older(self) -> Beside | None: ...
    @property
    def newer(self) -> Beside | None: ...


def write_page(
    path: Path, template: str, language: str = LANGUAGES[0], *, ways: Ways | None = None, **given: Any
) -> Path:
    """Writes a template of `tasks/aggregate/templates`, filled in. Raises UserMistake where it cannot be
    written."""
    return write_text(path, environment(language).get_template(template).render(ways=ways, **given))


@cache
def environment(language: str = LANGUAGES[0]) -> Environment:
    """Of all pages of a language: whatever is filled in is escaped, and what is not given is an error."""
    speech = Speech(language)
    made = Environment(
        loader=PackageLoader("tasks.aggregate", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"t": speech.text, "lang": language[:2]}
    made.filters |= {name: speech.writing(write) for name, write in NUMBERS.items()}
    made.filters |= {"plain": plain, "worded": speech.worded, "counted": speech.counted, "figures": speech.figures}
    return made


def plain(text: object) -> Markup:
    """A text of whatever origin, escaped, with its hidden characters to be seen."""
    told = str(escape(str(text).replace("\r\n", "\n")))
    return Markup(HIDDEN.sub(_shown, told))  # noqa: S704 - escaped above


def _shown(found: re.Match[str]) -> str:
    return f'<span class="sign">U+{ord(found[0]):04X}</span>'


def differing(text: str, other: str) -> tuple[str, str, str]:
    """A text in three: what it begins with as another does, what is its own, what it ends with as the other."""
    own, others = WORDS.findall(text), WORDS.findall(other)
    begins = _common(own, others)
    ends = _common(own[begins:][::-1], others[begins:][::-1])
    last = len(own) - ends
    return "".join(own[:begins]), "".join(own[begins:last]), "".join(own[last:])


def _common(own: Sequence[str], others: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, others, strict=False)))


def share(value: float | None) -> str:
    """A share as people read it; `–` where there is none."""
    return "–" if value is None else f"{value:.1%}"


def signed(value: float | None) -> str:
    """A score from −1 to 1; what rounds to none has no sign."""
    return "–" if value is None else f"{round(value, 2) or 0.0:+.2f}".replace("-", "−")


def small(value: float | None) -> str:
    """An error probability: three digits behind the point tell enough."""
    return "–" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"


def coefficient(value: float | None) -> str:
    """An agreement beyond chance, from −1 to 1; above chance it has no sign."""
    return signed(value).removeprefix("+")


NUMBERS = {"share": share, "signed": signed, "small": small, "coefficient": coefficient}
