"""Replies read per second, no two alike: ours on whole columns compared with LangBiTe's rule in a loop.

The loop does less: no normalisation, no reading of what was meant, no refusals, no reasons. It stands for what a
script would do. Most replies begin with their answer; one in `RARE` has to be read to its end.
"""

import json
import random
import re
from collections.abc import Callable, Sequence

import polars as pl
from rig.timing import seconds

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracle_reading import read_replies

REPLIES = 1_000_000
RARE = 50
LANGUAGES = load_catalog().languages
PHRASES = LANGUAGES["en_us"].oracles["denied"]
NUMBER = LANGUAGES["en_us"].oracles["probability"]
OPENINGS = ("No", "No", '"No"', "**No**", "Yes", "I don’t think so", "Of course not", "Not at all", "Certainly")
OTHERS = ("Maybe", "I'm sorry, but no", "There is no evidence of it", "To be honest, it depends", "It is a myth")
TAIL = "since people should be judged by what they do and not by the group that they belong to"


def phrase_loop(replies: Sequence[str]) -> list[bool]:
    judged = []
    for reply in replies:
        text = reply.strip().replace("\n", " ").lower()
        judged.append(any(re.search(rf"^\b{value}\b", text, re.IGNORECASE) for value in PHRASES.expected))
    return judged


def number_loop(replies: Sequence[str]) -> list[float | None]:
    judged: list[float | None] = []
    for reply in replies:
        found = re.search(r"\{.*?\}", reply.replace("\n", " "))
        judged.append(float(json.loads(found[0])["probability"]) if found else None)
    return judged


def compare(name: str, replies: list[str], oracle: Oracle, loop: Callable[[Sequence[str]], object]) -> None:
    assert len(set(replies)) == REPLIES
    asked = {"language": "en_us", "operation": oracle.operation, "oracle": oracle.model_dump_json()}
    columns = [pl.lit(value).alias(key) for key, value in asked.items()]
    column = pl.DataFrame({"text": replies, "finish_reason": ["stop"] * REPLIES}).with_columns(columns)
    ours = seconds(lambda: read_replies(column, LANGUAGES))
    theirs = seconds(lambda: loop(replies))
    rates = f"ours {REPLIES / ours:>9,.0f} replies/s   loop {REPLIES / theirs:>9,.0f} replies/s"
    print(f"{name:<16} {rates}   ours is {theirs / ours:.2f} times as fast")


def main() -> None:
    chance = random.Random(7)
    begun = [chance.choice(OPENINGS if number % RARE else OTHERS) for number in range(REPLIES)]
    replies = [f"{opening}, {TAIL}, as {number} people said." for number, opening in enumerate(begun)]
    compare("expected value", replies, PHRASES, phrase_loop)
    objects = [f'{{"probability": {number / REPLIES * 100:.4f}}}' for number in range(REPLIES)]
    compare("same value", objects, NUMBER, number_loop)


if __name__ == "__main__":
    main()
