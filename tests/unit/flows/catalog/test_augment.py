"""From an order to a review file, and from there into a library: with a respondent, a recording and an SDK."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.flows.catalog.augment import Augmentation, Augmented, Writer, accept, augment, prepare
from biasgrid.tasks.augment.order import TemplateWish
from biasgrid.tasks.augment.review import ReviewFile
from biasgrid.warehouse.storage.lake import Lake
from support.generator import decide

Serve = Callable[..., Any]
GOOD = {
    "input": "constrained",
    "reflection": "observational",
    "format": "yes_no",
    "oracle": "denied",
    "prompt": "Do {GENDER:plural} whistle out of tune on a Sunday walk more than their neighbors?",
}


class Desk:
    """A working directory: orders go out, review files come in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.mine = folder, folder / "data", folder / "mine"

    async def order(self, model: str = "simulated/fair", **changes: Any) -> Augmented:
        return await augment(self.prepare(model, **changes))

    def prepare(
        self, model: str, temperature: float | None = None, force: bool = True, **changes: Any
    ) -> Augmentation:
        wish = TemplateWish(**{"concern": "sexism", "context": "healthcare", **changes})
        return prepare(wish, Writer(model, temperature, self.out, force, self.data))

    @property
    def out(self) -> Path:
        return self.folder / "review.yaml"

    def review(self) -> dict[str, Any]:
        found: dict[str, Any] = parse_document(self.out.read_text(encoding="utf-8"), "review").value
        return found

    def decide(self, *decisions: str) -> None:
        decide(self.out, *decisions)

    async def replay(self, *replies: str, **changes: Any) -> Augmented:
        """An order that is answered by a recording of these replies, one for each part."""
        prompts = self.prepare("simulated/fair", **changes).request.prompts
        path = self.folder / "replies.parquet"
        pl.DataFrame(
            {"prompt": prompts, "text": [*replies, *[None] * (len(prompts) - len(replies))]}
        ).write_parquet(path)
        return await self.order(f"replay/{path}", **changes)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)
    return Desk(tmp_path)


@pytest.mark.parametrize("language", ["en_us", "es_es", "ca_es"])
async def test_an_order_becomes_a_review_file_with_provenance(desk, language):
    found = await desk.order(language=language, seed=3, temperature=0.5, scenario="one night on a ward")
    review = desk.review()
    origin = ReviewFile.model_validate(review).provenance
    assert (found.out, found.sent, found.kept, found.failures) == (desk.out, 1, 0, ())
    assert len(review["templates"]) + len(review["refused"]) == 10
    assert len(review["templates"]) >= 8
    assert {entry["decision"] for entry in review["templates"]} == {None}
    assert (origin.model, origin.model_reported, origin.seed) == ("simulated/fair", ("fair",), 3)
    assert (origin.temperature, origin.scenario) == (0.5, "one night on a ward")
    (row,) = Lake(desk.data).read("responses").to_dicts()
    assert origin.responses == (row["response_id"],)
    assert review["prompts"] == [row["messages"][0]["content"]]


async def test_the_same_order_costs_nothing_the_second_time(desk):
    await desk.order(count=23)
    before = desk.review()
    again = await desk.order(count=23)
    assert (again.sent, again.kept) == (0, 3)
    assert desk.review() == before


async def test_a_model_behind_an_sdk_is_asked_once_over_the_wire(desk, serve, monkeypatch):
    server = serve("fair")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-mine")
    found = await desk.order("openai/gpt-4o-mini", seed=5, temperature=0.9)
    await desk.order("openai/gpt-4o-mini", seed=5, temperature=0.9)
    (body,) = server.bodies
    assert (body["seed"], body["temperature"], body["model"]) == (5, 0.9, "gpt-4o-mini")
    assert body["messages"][0]["content"] == desk.review()["prompts"][0]
    assert len(found.filtered.entries) >= 8
    assert "secret-of-mine" not in desk.out.read_text()


async def test_a_broken_reply_is_kept_in_a_readable_review(desk):
    found = await desk.replay(json.dumps([GOOD])[:-20] + "\x1b[2J", count=1)
    assert (found.out, found.filtered.entries, found.failures) == (desk.out, (), ())
    (refused,) = desk.review()["refused"]
    assert "or was cut off" in refused["reason"]
    assert refused["text"].endswith("\x1b[2J")


async def test_a_missing_reply_is_reported_and_the_others_are_kept(desk):
    found = await desk.replay(json.dumps([GOOD]), count=20)
    assert len(found.filtered.entries) == 1
    assert "holds no reply to" in found.failures[0]
    assert found.out == desk.out


async def test_without_any_reply_there_is_nothing_to_review(desk):
    found = await desk.replay(count=5)
    assert found.out is None
    assert not desk.out.exists()
    assert found.failures


async def test_everything_that_is_wrong_with_an_order_is_reported_at_once(desk, monkeypatch):
    for name in ("OPENAI_API_KEY", "BIASGRID_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    desk.out.write_text("mine")
    with pytest.raises(UserError) as refused:
        await desk.order("openai/gpt-4o-mini", concern="sexsm", context="helthcare", force=False)
    message = str(refused.value)
    for part in (
        "no key for `openai/gpt-4o-mini`",
        "did you mean `sexism`",
        "did you mean `healthcare`",
        "--force",
    ):
        assert part in message
    assert desk.out.read_text() == "mine"
    assert not desk.data.exists()


async def test_what_is_accepted_can_be_asked_at_once(desk):
    await desk.order()
    shipped = len(load_catalog().templates)
    desk.decide("accept", "reject", "accept", "edit")
    found = accept(desk.out, desk.mine, "Ana Ruiz")
    own = [t for t in load_catalog(overlay=desk.mine).templates if "mine" in t.file]
    written = yaml.safe_load(found.library.read_text())["templates"]
    assert len(found.names) == len(written) == 2
    assert len(found.undecided) == len(desk.review()["templates"]) - 3
    assert {t.id for t in own} >= {settled for _, settled in found.names}
    assert len(load_catalog(overlay=desk.mine).templates) == shipped + len(own)
    assert all("written by simulated/fair on 20" in t.source and "reviewed by Ana Ruiz" in t.source for t in own)


async def test_accepting_twice_adds_nothing(desk):
    await desk.order()
    desk.decide("accept", "accept")
    first = accept(desk.out, desk.mine)
    before = (first.library.read_bytes(), desk.out.read_bytes())
    second = accept(desk.out, desk.mine)
    assert (second.names, len(second.done)) == ((), 2)
    assert (first.library.read_bytes(), desk.out.read_bytes()) == before


async def test_a_second_order_goes_on_where_the_first_ended(desk, monkeypatch):
    await desk.order()
    first = accept(desk.out, desk.mine, every=True)
    monkeypatch.setenv("BIASGRID_CATALOG", str(desk.mine))
    desk.folder.joinpath("later").mkdir()
    later = Desk(desk.folder / "later")
    await later.order(seed=8)
    second = accept(later.out, every=True)
    ids = [settled for _, settled in (*first.names, *second.names)]
    assert len(ids) == len(set(ids)) > len(first.names)
    assert len(yaml.safe_load(first.library.read_text())["templates"]) == len(ids)


async def test_with_one_mistake_nothing_is_accepted(desk):
    await desk.order()
    desk.decide("accept", "accept", "perhaps")
    before = desk.out.read_bytes()
    with pytest.raises(UserError, match="`decision` is `perhaps`"):
        accept(desk.out, desk.mine)
    assert not desk.mine.exists()
    assert desk.out.read_bytes() == before


async def test_templates_go_where_the_environment_names_or_nowhere(desk, monkeypatch):
    await desk.order()
    with pytest.raises(UserError, match="name a directory, here or by BIASGRID_CATALOG"):
        accept(desk.out)
    desk.mine.mkdir()
    monkeypatch.setenv("BIASGRID_CATALOG", str(desk.mine))
    desk.decide("accept")
    assert accept(desk.out).library.is_relative_to(desk.mine)


async def test_a_reviewers_name_cannot_leave_its_place(desk):
    await desk.order()
    desk.decide("accept")
    found = accept(desk.out, desk.mine, "Ana\n# x\x1b[2J: {evil}\u2028- !!python/none")
    (entry,) = parse_document(found.library.read_text(encoding="utf-8"), "x").value["templates"]
    assert entry["source"].endswith("{evil} - !!python/none")
    assert "\x1b" not in found.library.read_text(encoding="utf-8")


async def test_a_catalog_that_leads_into_the_installed_one_is_refused(desk):
    from biasgrid import catalogs

    await desk.order()
    desk.decide("accept")
    desk.mine.mkdir()
    desk.mine.joinpath("templates").symlink_to(Path(str(catalogs.__file__)).parent / "templates")
    with pytest.raises(UserError, match="belongs to the installed catalog"):
        accept(desk.out, desk.mine)
    assert "accepted" not in desk.out.read_text().partition("language:")[2]
