"""Invisible characters: one definition by Unicode's categories, in Python, in Polars and on the pages."""

import re
import sys
import unicodedata
from importlib.resources import files

import polars as pl
import pytest

from biasgrid.catalogs import text_safety

CATEGORIES = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
LETTERS = [chr(code) for code in range(sys.maxunicode + 1)]
KEPT = {"\t", "\n"}
BY_CATEGORY = {letter for letter in LETTERS if unicodedata.category(letter) in CATEGORIES} - KEPT


def test_the_patterns_hold_what_unicode_calls_control_format_and_private():
    matched = {letter for letter in LETTERS if text_safety.INVISIBLE.match(letter)}
    assert matched >= BY_CATEGORY
    assert {unicodedata.category(letter) for letter in matched - BY_CATEGORY} <= {"Cn"}
    assert {letter for letter in matched if not text_safety.HIDDEN.match(letter)} == set(text_safety.JOINERS)


def test_polars_reads_the_class_as_python_does():
    known = [letter for letter in LETTERS if unicodedata.category(letter) != "Cs"]
    texts = pl.Series(known).str.contains(f"[{text_safety.UNSEEN}]")
    assert texts.to_list() == [text_safety.HIDDEN.match(letter) is not None for letter in known]


def test_the_pages_name_the_same_categories():
    script = files("biasgrid.tasks.report").joinpath("site/dom.js").read_text(encoding="utf-8")
    assert set(re.findall(r"\\p\{(\w+)\}", script)) == CATEGORIES


@pytest.mark.parametrize(
    ("text", "escaped", "line"),
    [
        ("a\tb\n", "a\tb\n", "a\\tb\\n"),
        ("\x1b[2J", "\\x1b[2J", "\\x1b[2J"),
        ("\u202eb\ud800\U000e0041", "\\u202eb\\ud800\\U000e0041", "\\u202eb\\ud800\\U000e0041"),
        ("a\u200db é 中", "a\\u200db é 中", "a\\u200db é 中"),
    ],
)
def test_what_is_shown_is_escaped(text, escaped, line):
    assert text_safety.escape(text) == escaped
    assert text_safety.escape_line(text) == line


def test_what_is_refused_is_named():
    assert text_safety.first_invisible("plain text") is None
    assert text_safety.first_invisible("two\nlines") == "\\n"
    assert not text_safety.is_one_line("a\x00")
    assert text_safety.replace_invisible("a\x00b\n", "?") == "a?b?"
    assert text_safety.excerpt("x" * 9, 5) == "xxxx…"


def test_json_stays_json():
    assert text_safety.json_escape("\u2028") == "\\u2028"
    assert text_safety.json_escape("\U0001f600") == "\\ud83d\\ude00"
    assert text_safety.storable("a\ud800") == "a\ufffd"
