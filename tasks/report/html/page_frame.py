"""`index.html`: head, styles and script, the same for every report. No data stands in it."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

import orjson

from biasgrid.tasks.report.languages import LANGUAGES, words

SCRIPTS = (
    *("dom", "words", "chunks", "marks", "tables", "leaderboard", "grid", "beside", "communities", "trend"),
    *("agreement", "covered", "search", "filters", "tests", "run", "lake", "start"),
)
"""Parts of the one script, each after what it needs to begin with."""


def shell(first: str, language: str = LANGUAGES[0]) -> str:
    """The page that begins with `data/<first>.js` and speaks `language` until its reader chooses another.

    Its policy admits this very style and script, and what that script loads: no other, and no request elsewhere.
    """
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
    told = orjson.dumps(spoken).decode().replace("<", "\\u003c")
    parts = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\nconst WORDS = {told};\n{parts}\n}})();\n'


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
    return files("biasgrid.tasks.report").joinpath("site", name).read_text(encoding="utf-8")
