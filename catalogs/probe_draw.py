"""Which attribute pairs are asked about: those that are named, or so many drawn by seed, evenly over the axes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from random import Random

from catalogs.probes import AttributePair, ProbeAxis, every_pair

Pair = tuple[ProbeAxis, AttributePair]


def drawn_pairs(
    axes: Mapping[str, ProbeAxis],
    wanted: int | Collection[str],
    seed: int,
    *,
    of_axes: Collection[str] = (),
    sectors: Collection[str] = (),
    languages: Collection[str] = (),
) -> list[Pair]:
    """The pairs of these ids, or so many: of some axes, such as chatbots of some sectors meet, with words in all
    of these languages; none named, of all. A pair of each axis in turn, until there are enough. The same seed
    draws the same."""
    if not isinstance(wanted, int):
        return [(axis, pair) for axis, pair in every_pair(axes) if pair.id in wanted]
    fitting = [
        (axis, pair)
        for axis, pair in every_pair(axes)
        if (not of_axes or axis.id in of_axes) and _is_met(pair, set(sectors))
        if set(languages) <= pair.attributes.keys()
    ]
    return _evenly(fitting, wanted, Random(f"pairs/{seed}"))  # noqa: S311 - no secret


def _is_met(pair: AttributePair, sectors: set[str]) -> bool:
    """Whether a chatbot of these sectors meets it; what belongs to no sector is met everywhere."""
    return not sectors or not pair.sectors or bool(sectors & set(pair.sectors))


def _evenly(fitting: Iterable[Pair], count: int, draw: Random) -> list[Pair]:
    by_axis: dict[str, list[Pair]] = {}
    for axis, pair in fitting:
        by_axis.setdefault(axis.id, []).append((axis, pair))
    for pairs in by_axis.values():
        draw.shuffle(pairs)
    order = sorted(by_axis)
    draw.shuffle(order)
    rounds = max(map(len, by_axis.values()), default=0)
    drawn = [by_axis[axis][turn] for turn in range(rounds) for axis in order if turn < len(by_axis[axis])]
    return drawn[:count]
