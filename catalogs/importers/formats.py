"""Lists the formats that can be imported, and detects the format of a file."""

import json
from collections.abc import Callable
from typing import Final

from biasgrid.catalogs.importers import coreference, crows_pairs, iat, interactions, langbite, responses, stereoset
from biasgrid.catalogs.importers.bbq import bbq, esbbq, kobbq
from biasgrid.catalogs.importers.result import Imported
from biasgrid.catalogs.loading.langbite import COLUMNS as LANGBITE
from biasgrid.catalogs.loading.tables import read_table

Importer = Callable[[str, str, str], Imported]
"""Receives the file's text, its name and the language."""

FORMATS: Final[dict[str, Importer]] = {
    "langbite": langbite.read,
    "bbq": bbq.read,
    "esbbq": esbbq.read,
    "kobbq": kobbq.read,
    "crows-pairs": crows_pairs.read,
    "iat": iat.read,
    "stereoset": stereoset.read,
    "winobias": coreference.read_winobias,
    "winogender": coreference.read_winogender,
    "interactions": interactions.read,
    "responses": responses.read,
}
BENCHMARKS: Final = ("bbq", "esbbq", "kobbq", "crows-pairs", "iat", "stereoset", "winobias", "winogender")
COLUMNS: Final = (
    ("langbite", LANGBITE),
    ("crows-pairs", crows_pairs.COLUMNS),
    ("iat", iat.COLUMNS),
    ("kobbq", kobbq.COLUMNS),
    ("winogender", coreference.COLUMNS),
    ("interactions", interactions.SITUATIONS),
    ("interactions", interactions.SCENES),
)


def looks_like(text: str) -> str | None:
    """Format detected from a file's first line, or None."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    keys = _keys(first) or _keys(text)
    if keys:
        if {"example_id", "answer_info"} <= keys:
            return "bbq"
        if {"instance_id", "answer_info"} <= keys:
            return "esbbq"
        if keys == {"version", "data"}:
            return "stereoset"
        if keys & {"aiModels", "llms", "nTemplates"}:
            return "langbite"
        has_both = keys & set(responses.PROMPTS) and keys & {*responses.REPLIES, "choices"}
        return "responses" if has_both or keys & set(responses.LOGS) else None
    if coreference.BRACKETED & set(coreference.BRACKETS.findall(first)):
        return "winobias"
    header = set(read_table(first, "").header)
    named = next((name for name, columns in COLUMNS if set(columns) <= header), None)
    is_recorded = header & set(responses.PROMPTS) and header & set(responses.REPLIES)
    return named or ("responses" if is_recorded else None)


def _keys(text: str) -> set[str]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return set()
    return set(value) if isinstance(value, dict) else set()
