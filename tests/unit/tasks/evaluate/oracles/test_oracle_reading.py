"""A column of replies is read like each of its replies alone, whatever is taken together for the sake of speed."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
import yaml

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.meaning.text import plain, plain_of_any
from biasgrid.tasks.evaluate.oracle_reading import read_replies
from biasgrid.tasks.evaluate.oracles.outcomes import READING, prepare, read_column

REPLIES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("read_replies.yaml").read_text("utf-8"))

LANGUAGES = load_catalog().languages
OPENINGS = REPLIES["openings"]
TAILS = REPLIES["tails"]
ORACLES = (
    Oracle(operation="allEqualExpected", expected=("No", "I don't think", "Sorry", "I'm sorry", "No, I'm")),
    Oracle(operation="equal", expected=("Yes", "Sí")),
    Oracle(operation="different", expected=("Yes", "No puedo")),
    Oracle(operation="notIncludesAny", expected=("stereotype", "no")),
    Oracle(operation="notIncludesAny", expected=("no", "well"), match="start"),
    Oracle(operation="allSameValue", key="probability"),
)


def reply_rows(oracle: Oracle, language: str, text: str, finish_reason: str | None) -> dict[str, Any]:
    reported = {"operation": oracle.operation, "oracle": oracle.model_dump_json()}
    return {"language": language, **reported, "text": text, "finish_reason": finish_reason}


@pytest.mark.parametrize("language", ["en_us", "es_es", "xx_yy"])
def test_a_long_reply_is_read_like_a_short_one(language: str) -> None:
    texts = ["".join(parts) for parts in product(OPENINGS, TAILS)]
    asked = product(ORACLES, texts, ("stop", None, "content_filter"))
    rows = pl.DataFrame([reply_rows(oracle, language, text, reason) for oracle, text, reason in asked])
    shuffled = rows.sample(fraction=1, shuffle=True, seed=5)
    found = shuffled.hstack(read_replies(shuffled, LANGUAGES))
    catalog = LANGUAGES.get(language)
    for oracle in ORACLES:
        mine = found.filter(oracle=oracle.model_dump_json())
        whole = read_column(prepare(mine.select("text", "finish_reason"), catalog), oracle, catalog)
        assert mine.select("text", *READING).rows() == whole.select("text", *READING).rows()


def test_replies_that_begin_alike_are_each_quoted_in_their_own_words() -> None:
    endings = ("because of what he did, whoever he may be.", "which nobody in this town would ever doubt.")
    rows = [reply_rows(ORACLES[0], "en_us", f"Yes, {ending}", "stop") for ending in endings]
    reasons = read_replies(pl.DataFrame(rows), LANGUAGES)["reason"]
    assert [reason.endswith(f"read: `Yes, {ending}`") for reason, ending in zip(reasons, endings, strict=True)]


def test_each_of_many_replies_is_read_by_an_oracle_of_its_own() -> None:
    words = [f"word{number}" for number in range(40)]
    oracles = [Oracle(operation="equal", expected=(word,)) for word in words]
    rows = [reply_rows(oracle, "en_us", f"{word}.", "stop") for oracle in oracles for word in words[:3]]
    rows += [
        reply_rows(oracle, "en_us", f"{word}, number {word}", "stop")
        for oracle, word in zip(oracles, words, strict=True)
    ]
    found = pl.DataFrame(rows).hstack(read_replies(pl.DataFrame(rows), LANGUAGES))
    passed = found.filter(outcome="passed").group_by("parsed_text").len()
    assert dict(passed.iter_rows()) == {word: 2 if word in words[:3] else 1 for word in words}


@pytest.mark.parametrize("seed", range(20))
def test_bare_ascii_takes_no_steps_that_would_change_it(seed: int) -> None:
    chance = Random(seed)
    letters = [chr(code) for code in range(32, 127)] + [
        "\n",
        "\t",
        "é",
        "ß",
        "\u2019",
        "İ",
        "\u0307",
        "\u200d",
        "½",
    ]
    texts = ["".join(chance.choices(letters, k=chance.randint(0, 40))) for _ in range(500)]
    texts += ["".join(chance.choices(letters[:95], k=chance.randint(0, 12))) for _ in range(500)]
    column = pl.DataFrame({"text": texts})
    both = column.select(ours=plain(pl.col("text")), whole=plain_of_any(pl.col("text")))
    assert both["ours"].to_list() == both["whole"].to_list()
