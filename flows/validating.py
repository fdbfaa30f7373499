"""`catalog validate`: two people judge the tuning set blind, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from catalogs.catalog import load_catalog
from catalogs.mistakes import Mistake, UserMistake, position
from catalogs.tuning_examples import TuningExample, tuning_examples
from flows.exporting import refuse_to_replace
from tasks.review.concordance import Concordance, concordances, unknown_items
from tasks.review.tuning_sheets import Said, contradictions, item_of, read_sheet, sheets
from warehouse.handed_out import as_csv, write_text


def write_sheets(out: Path, language: str, seed: int, sections: int, *, force: bool = False) -> list[Path]:
    """Writes the sheets into a directory. Raises UserMistake for a language without assignments, and for files
    that exist, unless they are to be replaced."""
    examples = tuning_examples(load_catalog(), language, seed)
    if not examples:
        what = f"there are no assignments to tune on in `{language}`"
        raise UserMistake(Mistake(what, "--language", "name another, or add them to catalogs/tuning"))
    written = {out / name: rows for name, rows in sheets(examples, language, seed, sections).items()}
    for path in written:
        refuse_to_replace(path, force=force)
    # the mark: some spreadsheets take a CSV without it for an old code page
    return [write_text(path, "\ufeff" + as_csv(rows)) for path, rows in written.items()]


def agreement(paths: Sequence[Path]) -> list[Concordance]:
    """How far the people of some sheets agree. Raises UserMistake with all that is wrong in any of them."""
    said: list[Said] = []
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            own, wrong = read_sheet(path)
        except UserMistake as unread:
            own, wrong = [], list(unread.mistakes)
        said += own
        mistakes += wrong
    examples, unknown = _examples(said)
    mistakes += unknown or unknown_items(said, examples)
    mistakes += contradictions(said)
    if not mistakes and not said:
        mistakes.append(Mistake("no sheet has an answer", remedy="fill in `presence` or `reason_ok`"))
    if mistakes:
        raise UserMistake(sorted(mistakes, key=position))
    return concordances(said, examples)


def _examples(said: Sequence[Said]) -> tuple[dict[str, TuningExample], list[Mistake]]:
    """By item, those of every language and seed that the sheets tell of."""
    catalog = load_catalog()
    found: dict[str, TuningExample] = {}
    mistakes: list[Mistake] = []
    for one in {one.drawn: one for one in reversed(said)}.values():
        language, _, seed = one.drawn.rpartition("-")
        try:
            found |= {item_of(example): example for example in tuning_examples(catalog, language, int(seed))}
        except (UserMistake, ValueError):
            what = f"`{one.drawn[:40]}` in column `drawn` is no language and seed"
            mistakes.append(Mistake(what, one.where, "put back what the sheet was written with"))
    return found, mistakes
