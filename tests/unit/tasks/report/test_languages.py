"""All texts of reports exist in each language, with the same values to fill in."""

import re
from importlib.resources import files
from typing import get_args

import pytest

from biasgrid.tasks.report.languages import LANGUAGES, Speaker, words

BLANK = re.compile(r"\{\w*\}")


@pytest.mark.parametrize("speaker", get_args(Speaker))
def test_every_language_has_the_same_texts_and_fills_in_the_same(speaker):
    first, *others = (words(speaker, language) for language in LANGUAGES)
    blanks = {key: sorted(BLANK.findall(text)) for key, text in first.items()}
    for other in others:
        assert list(other) == list(first)
        assert {key: sorted(BLANK.findall(text)) for key, text in other.items()} == blanks


@pytest.mark.parametrize("speaker", get_args(Speaker))
def test_everything_speaks_the_same_languages(speaker):
    held = {path.name for path in files("biasgrid.tasks.report").joinpath("texts", speaker).iterdir()}
    assert held == {f"{language}.json" for language in LANGUAGES}
