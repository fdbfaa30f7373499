"""The language catalogs that biasgrid ships."""

from functools import cache
from importlib import resources

import yaml

from biasgrid.catalogs.schema.languages import LanguageCatalog


@cache
def shipped(language: str) -> LanguageCatalog:
    text = (resources.files("biasgrid.catalogs") / "languages" / f"{language}.yaml").read_text("utf-8")
    return LanguageCatalog.model_validate(yaml.safe_load(text))
