"""Draws the reviewers' sample with a seed from each model's replies of each outcome, the same for all
reviewers."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.warehouse.hashing import draw_places

STRATUM: Final = ["model", "stratum"]
FILTERS: Final = ("concern", "language", "model")


@dataclass(frozen=True, slots=True)
class Draw:
    """Parameters of a sample; equal ones give the same replies."""

    seed: int = 0
    size: int = 100
    concern: str | None = None
    language: str | None = None
    model: str | None = None

    def as_token(self) -> str:
        """The draw as one word, for a cell of a sheet."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return "s" + base64.urlsafe_b64encode(json.dumps(given).encode()).decode().rstrip("=")

    @classmethod
    def of_token(cls, token: str) -> Draw | None:
        """The draw that `as_token` wrote, or None."""
        try:
            padded = token[1:] + "=" * (-len(token[1:]) % 4)
            given = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        except (binascii.Error, UnicodeError, ValueError):
            return None
        return cls(**given) if token.startswith("s") and _is_draw(given) else None


def _is_draw(given: Any) -> bool:
    if not isinstance(given, dict) or not given.keys() <= {"seed", "size", *FILTERS}:
        return False
    numbers = (given.get("seed", 0), given.get("size", 1))
    words = (given.get(name, "") for name in FILTERS)
    return (
        all(type(number) is int for number in numbers)
        and numbers[0] >= 0
        and numbers[1] > 0
        and all(isinstance(word, str) for word in words)
    )


def draw_sample(units: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """The sample in random order: rows of `units` with `probability` and `seed`; raises UserError if the filters
    match nothing.

    Each model × outcome has about equal numbers, and the probability weighs them back. A larger sample of the same
    seed includes the smaller one.
    """
    fitting = filter_units(units, draw)
    salted = [f"review\x1f{draw.seed}\x1f{unit_id}" for unit_id in fitting["unit_id"]]
    placed = fitting.with_columns(place=draw_places(salted))
    counted = placed.group_by(STRATUM).len("of").sort("of", *STRATUM)
    shares = counted.with_columns(taken=pl.Series(share_out(counted["of"].to_list(), draw.size), dtype=pl.Int64))
    ranked = placed.with_columns(rank=pl.col("place").rank("ordinal").over(STRATUM))
    taken = ranked.join(shares, on=STRATUM).filter(pl.col("rank") <= pl.col("taken"))
    order = draw_places(f"order\x1f{draw.seed}\x1f{unit_id}" for unit_id in taken["unit_id"])
    sample = taken.with_columns(
        order=order, probability=pl.col("taken") / pl.col("of"), seed=pl.lit(draw.seed, pl.Int64)
    )
    return sample.sort("order", "unit_id").drop("order", "place", "rank", "taken", "of")


def filter_units(units: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """Units that match the filters; raises UserError if there are none."""
    wanted: Mapping[str, str] = {name: value for name in FILTERS if (value := getattr(draw, name)) is not None}
    mistakes = [
        Problem(f"no reply to review is of {name} `{value}`", f"--{name}", nearest(value, set(units[name])))
        for name, value in wanted.items()
        if value not in units[name]
    ]
    if mistakes:
        raise UserError(mistakes)
    found = units.filter(pl.col(name) == value for name, value in wanted.items()) if wanted else units
    if found.is_empty():
        what = "there is no reply to review" + (" that fits all filters" if wanted else "")
        raise UserError(
            Problem(what, remedy="a person can judge what an expected-value oracle or a red team's judge has read")
        )
    return found


def share_out(sizes: list[int], size: int) -> list[int]:
    """Number to take of each, as equal as `sizes` (ascending) allow, `size` in total."""
    taken, left = [], size
    for position, most in enumerate(sizes):
        taken.append(min(most, left // (len(sizes) - position)))
        left -= taken[-1]
    return taken
