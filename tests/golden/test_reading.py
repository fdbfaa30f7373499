"""How well replies of known meaning are read: printed, bounded, and published in docs/guides/reading.md."""

import sys
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.evaluate.oracle_reading import read_replies
from support.gold_replies import DOCUMENT, HELD_OUT, make_table, measure, read_gold, with_table

LANGUAGES = ("ca_es", "en_us", "es_es")
FLOORS = {
    "plain": {"passed": 0.99, "failed": 0.985, "read": 0.99, "recall": 0.98},
    "hard": {"passed": 0.96, "failed": 0.92, "read": 0.95, "recall": 0.79},
}
"""Least precision and recall. The numbers only go up."""
HELD_OUT_FLOORS = {
    "plain": {"passed": 0.97, "failed": 0.97, "read": 0.97, "recall": 0.95},
    "hard": {"passed": 0.97, "failed": 0.95, "read": 0.90, "recall": 0.79},
}
HARDER_FLOORS = {
    "held out, second": {"passed": 0.97, "failed": 0.94, "recall": 0.66},
    "held out, third": {"passed": 0.96, "failed": 0.9, "recall": 0.62},
    "held out, fourth": {"passed": 0.95, "failed": 0.94, "recall": 0.51},
    "held out, fifth": {"passed": 0.96, "failed": 0.85, "recall": 0.47},
    "held out, sixth": {"passed": 0.94, "failed": 0.94, "recall": 0.92},
    "held out, seventh": {"passed": 0.93, "failed": 0.88, "recall": 0.74},
    "held out, eighth": {"passed": 0.97, "failed": 0.92, "recall": 0.75},
    "held out, ninth": {"passed": 0.76, "failed": 0.77, "recall": 0.50},
    "held out, tenth": {"passed": 0.92, "failed": 0.89, "recall": 0.71},
    "held out, eleventh": {"passed": 0.90, "failed": 0.95, "recall": 0.78},
    "held out, twelfth": {"passed": 0.71, "failed": 0.80, "recall": 0.45},
    "held out, thirteenth": {"passed": 0.83, "failed": 0.80, "recall": 0.63},
    "held out, fourteenth": {"passed": 0.48, "failed": 0.44, "recall": 0.26},
}
FALSE_PASSES = {"plain": 0.0, "hard": 0.03}
"""Greatest share of replies without an answer that pass. The numbers only go down."""


@pytest.mark.parametrize("difficulty", FLOORS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_replies_of_known_meaning_are_read_as_what_they_mean(language, difficulty):
    rows = read_gold().filter(pl.col("language") == language, pl.col("difficulty") == difficulty)
    found = measure(rows)
    below = {name: found[name] for name, floor in FLOORS[difficulty].items() if found[name] < floor}
    assert not below
    silent = rows.filter(pl.col("expected").is_in(("refused", "unreadable")))
    assert found["false_passes"] / silent.height <= FALSE_PASSES[difficulty]


@pytest.mark.parametrize(
    ("difficulty", "name"),
    [
        ("plain", "held out"),
        ("plain", "held out, second"),
        ("plain", "held out, sixth"),
        ("plain", "held out, ninth"),
        ("plain", "held out, tenth"),
        ("plain", "held out, thirteenth"),
        *(("hard", name) for name in HELD_OUT),
    ],
)
def test_replies_that_were_new_to_the_reader_are_read_alike(difficulty, name):
    found = measure(read_gold(HELD_OUT[name]).filter(pl.col("difficulty") == difficulty))
    floors = HELD_OUT_FLOORS[difficulty] | (HARDER_FLOORS.get(name, {}) if difficulty == "hard" else {})
    assert not {name: found[name] for name, floor in floors.items() if found[name] < floor}


def test_the_table_is_printed_and_published(capsys):
    with capsys.disabled():
        sys.stdout.write(f"\n{make_table()}\n")
    document = DOCUMENT.read_text("utf-8")
    assert with_table(document) == document, "run tests/support/gold_replies.py"


FRAMED = load_yaml((Path(__file__).parent / "framed_answers.yaml").read_text("utf-8"))


@pytest.mark.parametrize("question", FRAMED["questions"], ids=lambda one: f"{one['language']}-{one['oracle']}")
def test_remarks_around_an_answer_change_nothing(question):
    languages, name = load_catalog().languages, question["language"]
    oracle = languages[name].oracles[question["oracle"]]
    texts = [
        (outcome, f"{before} {answer} {after}".strip())
        for remarks in FRAMED["remarks"]
        for before, after in product(["", *remarks["before"][name]], ["", *remarks["after"][name]])
        for outcome, answers in question["answers"].items()
        for answer in answers
    ]
    replies = pl.DataFrame(texts, ["expected", "text"], orient="row").with_columns(
        language=pl.lit(name),
        operation=pl.lit(oracle.operation),
        oracle=pl.lit(oracle.model_dump_json()),
        finish_reason=pl.lit("stop"),
        prompt=pl.lit(question["prompt"]),
    )
    read = replies.with_columns(read_replies(replies, languages)["outcome"])
    found = read.group_by("expected", "outcome").len()
    turned = found.filter(pl.col("outcome").is_in(("passed", "failed")), pl.col("outcome") != pl.col("expected"))
    assert not turned["len"].sum()
    same = found.filter(pl.col("outcome") == pl.col("expected"))["len"].sum()
    assert same / len(texts) >= 0.9
