"""Pages of HTML: templates, the frame with its script, and links between runs."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from biasgrid.catalogs.text_safety import HIDDEN, code_point
from biasgrid.tasks.report.figures import coefficient, format_score, moment, share, small
from biasgrid.tasks.report.languages import LANGUAGES, format_figures, words
from biasgrid.tasks.report.verdicts import SIGNS, TONES, WORST_FIRST, define_inks
from biasgrid.warehouse.storage.export_files import write_text

HOME = "../../index.html"
"""From a run's page to that of all runs."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    href: str
    name: str
    """Of its scenario, or of what it has assessed."""
    started_at: datetime | None

    @property
    def moment(self) -> str:
        return moment(self.started_at)


@dataclass(frozen=True, slots=True)
class Ways:
    home: str
    older: Neighbour | None = None
    newer: Neighbour | None = None

    def as_json(self) -> dict[str, Any]:
        """As a page loads it."""
        return {"home": self.home, "older": _neighbour_json(self.older), "newer": _neighbour_json(self.newer)}


def _neighbour_json(neighbour: Neighbour | None) -> dict[str, Any] | None:
    if neighbour is None:
        return None
    return {"href": neighbour.href, "name": neighbour.name, "started_at": neighbour.started_at}


def ways_between(pages: Sequence[Neighbour]) -> Iterator[Ways]:
    """Of each of these runs, the newest first; each `href` leads there from the page of any other."""
    for at, _ in enumerate(pages):
        newer = pages[at - 1] if at else None
        older = pages[at + 1] if at + 1 < len(pages) else None
        yield Ways(HOME, older, newer)


SCRIPTS = (
    *("keys", "dom", "words", "chunks", "marks", "tables", "board", "answer", "grid", "dimensions", "communities"),
    *("trend", "agreement", "covered", "search", "filters", "tests", "compare", "run", "lake", "start"),
)
"""Parts of the one script, each after what it needs to begin with."""


def shell(first: str, language: str = LANGUAGES[0]) -> str:
    """The page that begins with `data/<first>.js`; its policy admits its own style, script and data alone."""
    style, script = _part("page.css"), _script()
    filled = {
        "POLICY": _policy(style, script),
        "STYLE": style,
        "SCRIPT": script,
        "FIRST": first,
        "LANGUAGE": language,
        "LANG": language[:2],
        "NOSCRIPT": words("script", language)["noscript"],
    }
    page = _part("page.html")
    for name, text in filled.items():
        page = page.replace(f"@@{name}@@", text)
    return page


@cache
def _script() -> str:
    spoken = {language: words("script", language) for language in LANGUAGES}
    given = {"WORDS": spoken, "SIGNS": SIGNS, "TONES": TONES, "RANKS": WORST_FIRST}
    tables = "\n".join(
        f"const {name} = {orjson.dumps(table).decode().replace('<', chr(92) + 'u003c')};"
        for name, table in given.items()
    )
    parts = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{tables}\n{parts}\n}})();\n'


@cache
def page_script() -> tuple[str, str]:
    """Of a page that is whole without it, and its source in the policy."""
    text = '"use strict";\n(() => {{\n{}}})();\n'.format(
        "\n".join(_part(f"{name}.js") for name in ("keys", "pages"))
    )
    return text, f"'{_hash(text)}'"


def _policy(style: str, script: str) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": f"'{_hash(script)}' 'strict-dynamic'",
        "style-src": f"'{_hash(style)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "biasgrid",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _part(name: str) -> str:
    text = files("biasgrid.tasks.report").joinpath("site", name).read_text(encoding="utf-8")
    return text.replace("@@INKS@@", define_inks()).replace("@@DARK_INKS@@", define_inks(dark=True))


WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Speech:
    """A language's text formatter; inserted values are escaped."""

    language: str

    def text(self, key: str, /, **given: object) -> Markup:
        """Raises KeyError for a text that the language does not have, and where something is not given."""
        return Markup(words("pages", self.language)[key]).format(**given)  # noqa: S704 - escapes what is given

    def format_count(self, count: int, what: str) -> Markup:
        return self.text(f"{what}.{'one' if count == 1 else 'other'}", n=self.figures(f"{count:,}"))

    def translate(self, value: object, kind: str = "value") -> Markup:
        """A value of the warehouse; one that only a catalog knows is shown as it is."""
        key = f"{kind}.{value}"
        return self.text(key) if key in words("pages", self.language) else plain(value)

    def figures(self, number: str) -> str:
        return format_figures(number, self.language)

    def in_language(self, write: Callable[[float | None], str]) -> Callable[[float | None], str]:
        return lambda value: self.figures(write(value))


def write_page(
    path: Path, template: str, language: str = LANGUAGES[0], *, ways: Ways | None = None, **given: Any
) -> Path:
    """Writes a filled template of `tasks/report/templates`. Raises UserError if it cannot."""
    return write_text(path, environment(language).get_template(template).render(ways=ways, **given))


@cache
def environment(language: str = LANGUAGES[0]) -> Environment:
    """Of all pages of a language: whatever is filled in is escaped, and what is not given is an error."""
    speech = Speech(language)
    made = Environment(
        loader=PackageLoader("biasgrid.tasks.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script, source = page_script()
    made.globals |= {"script": Markup(script), "script_source": Markup(source)}  # noqa: S704 - ours
    made.globals |= {"t": speech.text, "lang": language[:2], "inks": define_inks, "tones": TONES, "signs": SIGNS}
    made.filters |= {name: speech.in_language(write) for name, write in NUMBERS.items()}
    made.filters |= {
        "plain": plain,
        "worded": speech.translate,
        "counted": speech.format_count,
        "figures": speech.figures,
    }
    return made


def plain(text: object) -> Markup:
    """A text of whatever origin, escaped, with its hidden characters to be seen."""
    text = str(escape(str(text).replace("\r\n", "\n")))
    shown = HIDDEN.sub(lambda found: f'<span class="sign">{code_point(found)}</span>', text)
    return Markup(shown)  # noqa: S704 - escaped above


def split_difference(text: str, other: str) -> tuple[str, str, str]:
    """A text in three parts: common prefix with another text, its own part, common suffix."""
    own, others = WORDS.findall(text), WORDS.findall(other)
    begins = _common(own, others)
    ends = _common(own[begins:][::-1], others[begins:][::-1])
    last = len(own) - ends
    return "".join(own[:begins]), "".join(own[begins:last]), "".join(own[last:])


def _common(own: Sequence[str], others: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, others, strict=False)))


NUMBERS = {"share": share, "signed": format_score, "small": small, "coefficient": coefficient}
