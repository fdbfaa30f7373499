"""Scenes from an order to a catalog: written by a respondent, reviewed, taken in."""

from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.flows.catalog.augment import Augmented, Writer, accept, augment, prepare
from biasgrid.tasks.augment.order import SceneWish
from support.generator import decide

pytestmark = pytest.mark.drill


@pytest.fixture(autouse=True)
def _no_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)


async def _order(folder: Path, **changes: Any) -> Augmented:
    writer = Writer("simulated/fair", out=folder / "review.yaml", force=True, data=folder / "data")
    return await augment(prepare(SceneWish("office", **changes), writer))


@pytest.mark.parametrize("language", ["en_us", "es_es"])
async def test_accepted_scenes_stand_next_to_the_shipped_ones(tmp_path, language):
    found = await _order(tmp_path, language=language, count=12)
    assert (found.sent, found.kept, found.failures, found.kind) == (2, 0, (), "scene")
    assert (len(found.filtered.entries), found.filtered.refused) == (12, ())
    review, mine = tmp_path / "review.yaml", tmp_path / "mine"
    decide(review, "accept", "reject", "accept", "edit")
    done = accept(review, mine, "Ana")
    assert [name for name, _ in done.names] == ["new-01", "new-03"]
    assert (done.rejected, len(done.undecided)) == (("new-02",), 9)
    catalog = load_catalog(overlay=mine)
    first, second = catalog.scenes["office-accepted"].scenes
    assert (first.id, second.id) == ("office-001", "office-002")
    assert first.languages == {language}
    assert first.source.endswith("reviewed by Ana")
    assert "office" in catalog.scenes
    decide(review, "accept")
    assert [name for _, name in accept(review, mine).names] == ["office-003"]


async def test_the_same_order_is_answered_from_the_lake(tmp_path):
    first = await _order(tmp_path, count=3)
    again = await _order(tmp_path, count=3)
    assert (again.sent, again.kept) == (0, 1)
    assert again.filtered.entries == first.filtered.entries
    other = await _order(tmp_path, count=3, seed=5)
    assert other.filtered.entries != first.filtered.entries


async def test_what_was_spoilt_in_the_review_is_not_taken_in(tmp_path):
    await _order(tmp_path, count=4)
    review = tmp_path / "review.yaml"
    decide(review, "accept")
    text = review.read_text(encoding="utf-8")
    scene = parse_document(text, "review").value["scenes"][0]
    task = scene["tasks"][0]["text"]["en_us"]
    review.write_text(text.replace(task, "Ask Michelle for help", 1), encoding="utf-8")
    with pytest.raises(UserError, match="names `Michelle`") as wrong:
        accept(review, tmp_path / "mine")
    assert all(f"{review}:" in mistake.where for mistake in wrong.value.mistakes)
    review.write_text(text.replace("      - to: men", "      - to: robots", 1), encoding="utf-8")
    with pytest.raises(UserError, match="groups that take no part"):
        accept(review, tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


async def test_scenes_that_are_there_are_not_taken_in_twice(tmp_path):
    await _order(tmp_path, count=2)
    review, copy = tmp_path / "review.yaml", tmp_path / "copy.yaml"
    copy.write_text(review.read_text(encoding="utf-8"), encoding="utf-8")
    accept(review, tmp_path / "mine", every=True)
    with pytest.raises(UserError, match="scene `new-01` asks the same as `office-001`"):
        accept(copy, tmp_path / "mine", every=True)
