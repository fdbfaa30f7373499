"""Replies of known meaning, read by the real reader: precision and recall per operation, language and difficulty.

`python tests/support/gold_replies.py` writes the table into docs/guides/reading.md.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracle_reading import read_replies

ROOT = Path(__file__).parents[2]
GOLD = ROOT / "tests" / "golden" / "replies"
HELD_OUT = {
    "held out": GOLD / "held_out",
    "held out, second": GOLD / "held_out_second",
    "held out, third": GOLD / "held_out_third",
    "held out, fourth": GOLD / "held_out_fourth",
    "held out, fifth": GOLD / "held_out_fifth",
    "held out, sixth": GOLD / "held_out_sixth",
    "held out, seventh": GOLD / "held_out_seventh",
    "held out, eighth": GOLD / "held_out_eighth",
    "held out, ninth": GOLD / "held_out_ninth",
    "held out, tenth": GOLD / "held_out_tenth",
    "held out, eleventh": GOLD / "held_out_eleventh",
    "held out, twelfth": GOLD / "held_out_twelfth",
    "held out, thirteenth": GOLD / "held_out_thirteenth",
    "held out, fourteenth": GOLD / "held_out_fourteenth",
}
"""Replies that were new to the reader when they were first measured; it has been changed with them at hand since.
Newer ones are harder, all from the third on."""
DOCUMENT = ROOT / "docs" / "guides" / "reading.md"
BEGIN, END = "<!-- table: tests/support/gold_replies.py -->", "<!-- end of table -->"
TOTALS = ("all", *HELD_OUT)
ANSWERS = ("passed", "failed", "read")


@cache
def read_gold(folder: Path = GOLD) -> pl.DataFrame:
    """The replies of a folder's files, one row each: `language`, `operation`, `difficulty`, `expected`, `found`
    (outcomes; `read` and the number where one was read), `text`, `reason`."""
    languages = load_catalog().languages
    rows = pl.DataFrame([row for path in sorted(folder.glob("*.yaml")) for row in _rows(path, languages)])
    found = rows.hstack(read_replies(rows, languages))
    number = pl.format("number:{}", pl.col("parsed_value").cast(pl.Float64))
    return found.with_columns(found=pl.coalesce("outcome", number))


def _rows(path: Path, languages: Any) -> Iterator[dict[str, Any]]:
    document = yaml.safe_load(path.read_text("utf-8"))
    language = document["language"]
    for question in document["questions"]:
        given = question["oracle"]
        named = languages[language].oracles[given] if isinstance(given, str) else None
        oracle = named or Oracle.model_validate({"operation": question["operation"]} | given)
        asked = {"language": language, "operation": oracle.operation, "oracle": oracle.model_dump_json()}
        asked["prompt"] = question["prompt"]
        for text, label, outcome, difficulty in question["replies"]:
            expected = _number(label) if str(label).startswith("number:") and outcome != "unreadable" else outcome
            yield {**asked, "finish_reason": "stop", "text": text, "expected": expected, "difficulty": difficulty}


def _number(label: str) -> str:
    return f"number:{float(label.removeprefix('number:'))}"


def measure(rows: pl.DataFrame) -> dict[str, float]:
    """`passed` and `failed` (precision), `read` (precision of numbers), `recall` of what can be read, and
    `false_passes`: replies without an answer that pass."""
    counts: Counter[str] = Counter()
    for expected, found in rows.select("expected", "found").iter_rows():
        kind = _kind(found)
        counts[kind] += 1
        counts[f"{kind} right"] += expected == found
        readable = _kind(expected) in ANSWERS
        counts["readable"] += readable
        counts["readable right"] += readable and expected == found
        counts["false passes"] += kind == "passed" and not readable
    shares = {kind: _share(counts[f"{kind} right"], counts[kind]) for kind in ANSWERS}
    recall = _share(counts["readable right"], counts["readable"])
    return {**shares, "recall": recall, "false_passes": float(counts["false passes"])}


def _kind(outcome: str) -> str:
    return "read" if outcome.startswith("number:") else outcome


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def make_table() -> str:
    """The Markdown table of docs/guides/reading.md."""
    head = "| operation | language | difficulty | replies | passed | failed | number | recall | false passes |"
    lines = [head, "|---|---|---|---|---|---|---|---|---|"]
    gold = read_gold()
    held_out = [read_gold(folder).with_columns(operation=pl.lit(name)) for name, folder in HELD_OUT.items()]
    totals = [gold.with_columns(operation=pl.lit("all")), *held_out]
    for key, rows in _groups(pl.concat([gold, *totals])):
        found = measure(rows)
        shares = [_percent(found[name]) for name in ("passed", "failed", "read", "recall")]
        cells = [*map(str, key), str(rows.height), *shares, str(int(found["false_passes"]))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _groups(rows: pl.DataFrame) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    parts = rows.partition_by("operation", "language", "difficulty", as_dict=True)
    return sorted(
        parts.items(), key=lambda part: (part[0][0] not in TOTALS, part[0][0], part[0][2] != "plain", part[0][1])
    )


def _percent(share: float) -> str:
    return "" if share != share else f"{share:.1%}"


def with_table(document: str) -> str:
    """The document with the table of today's reader."""
    before, _, rest = document.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{make_table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text("utf-8")), "utf-8")
