"""What pages load: values that no reader of scripts could mistake, and an index that overlooks nothing."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.tasks.report.html.mart_tables import as_chunk, columns
from biasgrid.tasks.report.html.page import shell
from biasgrid.tasks.report.html.run_pages import FEWEST, bitmap, slot, trigrams
from biasgrid.tasks.report.languages import LANGUAGES, words

SAFE = re.compile(r"[^<>&\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\x7f]*")


@given(st.text())
def test_any_text_comes_back_from_a_chunk_and_is_never_markup(text):
    written = as_chunk("tests-1", {"text": text})
    assert SAFE.fullmatch(written)
    assert json.loads(written.removeprefix('biasgrid("tests-1",').removesuffix(");\n")) == {"text": text}


def test_numbers_of_a_chunk_are_rounded_and_decimals_are_numbers():
    rows = pl.DataFrame({"rate": [1 / 3, None], "spread": [Decimal("1.5"), None], "tests": [3, 4]})
    assert columns(rows) == {"rate": [0.333333, None], "spread": [1.5, None], "tests": [3, 4]}


def _may_hold(bits: str, text: str) -> bool:
    decoded = b64decode(bits)
    places = [slot(one) % (8 * len(decoded)) for one in trigrams([text])]
    return all(decoded[at >> 3] & 1 << (at & 7) for at in places)


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_what_a_chunk_holds_is_never_ruled_out(texts, data):
    text = data.draw(st.sampled_from(texts)).lower()
    start = data.draw(st.integers(0, len(text)))
    assert _may_hold(bitmap(trigrams(texts)), text[start : start + 9])


def test_most_of_what_a_chunk_does_not_hold_is_ruled_out():
    bits = bitmap(trigrams(f"the reply of {number} to that" for number in range(400)))
    strange = [f"{number:x}zq{number:x}" for number in range(1000, 2000)]
    assert sum(_may_hold(bits, text) for text in strange) < 50


def test_a_bitmap_grows_with_what_it_holds():
    sizes = [8 * len(b64decode(bitmap({f"{n:03x}" for n in range(count)}))) for count in (0, 1000, 2000)]
    assert sizes == [FEWEST, 4096, 8192]


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_those_that_the_script_asks_for(language):
    script = shell("run").partition("const WORDS")[2].partition("\n")[2]
    asked = set(re.findall(r'\bt\(\s*"([\w.]+)"', script))
    assert asked <= words("script", language).keys()
    quoted = set(re.findall(r'"([\w. ]+)"', script)) | set(re.findall(r"\b(\w+): \(\) =>", script))
    prefixes = ("value", "concern", "grid.step", "theme.", "by.", "refusals.", "silent.")
    computed = (*prefixes, "language.name", "measured.", "compare.only.", "compare.is.", "tests.as.")
    plural = (".one", ".other")
    spare = {key for key in words("script", language) if not key.startswith(computed)} - quoted - {"noscript"}
    assert {key for key in spare if not key.endswith(plural)} == set()


def test_a_page_admits_its_own_script_and_style_and_nothing_else():
    from base64 import b64encode
    from hashlib import sha256

    page = shell("run", "es_es")
    policy = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    for name in ("script", "style"):
        (inline,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        assert f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert 'lang="es"' in page
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|fetch\(", page)
    assert not re.search(r"(src|href)=\"(http|//)|\son\w+=\"|url\(|@import", page)
