"""Formats that are named and do not exist: the name itself would be sent as an instruction."""

from __future__ import annotations

import re

from biasgrid.catalogs.errors import close_names
from biasgrid.catalogs.schema.entries import LanguageCatalog, Template

NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def is_misspelt(template: Template, language: LanguageCatalog) -> bool:
    """Whether a template's format is no sentence and no format of its language."""
    named, known = template.format, language.formats
    return named not in known and bool(NAME.fullmatch(named)) and ("_" in named or bool(close_names(named, known)))
