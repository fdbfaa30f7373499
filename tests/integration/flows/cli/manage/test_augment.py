"""`catalog augment` and `catalog accept` as a person types them."""

import json
from pathlib import Path

import pytest

ORDER = ("catalog", "augment", "--model", "simulated/fair", "--concern", "sexism", "--context", "healthcare")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)


def test_an_order_reports_what_came_and_what_to_do_next(biasgrid, tmp_path):
    result = biasgrid(*ORDER, "--count", 4, "--input", "constrained", "--reflection", "utopian")
    (review,) = (tmp_path / "review").iterdir()
    assert review.name.startswith("sexism-en_us-healthcare-20")
    assert (result.code, result.err) == (0, "")
    assert f"to review, 0 refused: review/{review.name}" in result.out
    assert "1 request sent, 0 answered from the lake" in result.out
    assert f"biasgrid catalog accept review/{review.name}" in result.out


def test_from_order_to_library(biasgrid, tmp_path):
    biasgrid(*ORDER, "--out", "mine.yaml", "--count", 3)
    result = biasgrid("catalog", "accept", "mine.yaml", "--into", "own", "--all", "--reviewer", "Ana")
    assert result.code == 0
    assert "new-01 is sexism-" in result.out
    assert "accepted into own/templates/en_us/sexism-accepted.yaml" in result.out
    assert "accepted before" in biasgrid("catalog", "accept", "mine.yaml", "--into", "own").out
    assert (tmp_path / "own" / "templates" / "en_us" / "sexism-accepted.yaml").exists()


def test_a_review_is_overwritten_only_by_force(biasgrid):
    biasgrid(*ORDER, "--out", "mine.yaml", "--count", 2)
    assert biasgrid(*ORDER, "--out", "mine.yaml").is_a_mistake("`mine.yaml` exists", "--force")
    assert biasgrid(*ORDER, "--out", "mine.yaml", "--force").code == 0


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--model", "simulated/fare", "did you mean `fair`?"),
        ("--model", "nobody/nothing", "model `nobody/nothing` is unknown"),
        ("--model", "replay/absent.csv", "`absent.csv` does not exist"),
        ("--concern", "sexsm", "did you mean `sexism`?"),
        ("--context", "nowhere", "context `nowhere` is unknown"),
        ("--language", "fr_fr", "language `fr_fr` is unknown"),
        ("--out", "/proc/mine.yaml", "cannot be written"),
        ("--out", ".", "is a directory"),
    ],
)
def test_mistakes_are_reported_and_nothing_is_left(biasgrid, tmp_path, option, value, expected):
    assert biasgrid(*ORDER, option, value).is_a_mistake(expected)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_key_is_a_mistake(biasgrid, monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "BIASGRID_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert biasgrid(*ORDER, "--model", "openai/gpt-4o").is_a_mistake(
        "no key for `openai/gpt-4o`", "OPENAI_API_KEY"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_refuses_leaves_a_review_that_states_so(biasgrid, tmp_path):
    result = biasgrid(*ORDER, "--model", "simulated/refuser", "--out", "mine.yaml")
    assert (result.code, result.err) == (3, "")
    assert result.out.startswith("0 templates to review, 1 refused: mine.yaml")
    assert "holds no JSON array" in (tmp_path / "mine.yaml").read_text()


def test_mistakes_in_a_review_are_reported_by_line(biasgrid, tmp_path):
    biasgrid(*ORDER, "--out", "mine.yaml", "--count", 3)
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace("- decision:", "- decision: perhaps"))
    result = biasgrid("catalog", "accept", "mine.yaml", "--into", "own")
    assert result.is_a_mistake("biasgrid: 3 errors", "mine.yaml:", "`decision` is `perhaps`")
    assert not (tmp_path / "own").exists()


def test_a_review_that_is_none_is_a_mistake(biasgrid, tmp_path):
    (tmp_path / "mine.yaml").write_text("language: en_us\n")
    assert biasgrid("catalog", "accept", "mine.yaml", "--into", "own").is_a_mistake("`provenance` is missing")
    assert biasgrid("catalog", "accept", "absent.yaml", "--into", "own").is_a_mistake("cannot be read")


def test_a_reply_that_never_came_is_reported_and_the_run_is_incomplete(biasgrid, tmp_path):
    (tmp_path / "replies.csv").write_text("prompt,response\nsomething else,No\n")
    result = biasgrid(*ORDER, "--model", "replay/replies.csv", "--out", "mine.yaml")
    assert result.code == 3
    assert result.err.startswith("no reply: `replies.csv` holds no reply to sample 1")
    assert not (tmp_path / "mine.yaml").exists()


def test_scenes_are_ordered_by_their_domain(biasgrid, tmp_path):
    result = biasgrid(
        "catalog", "augment", "--model", "simulated/fair", "--scenes", "a village fair", "--count", 1
    )
    (review,) = (tmp_path / "review").iterdir()
    assert review.name.startswith("scenes-a-village-fair-en_us-20")
    assert "1 scene to review, 0 refused" in result.out
    assert "agreeing" not in result.out
    result = biasgrid("catalog", "accept", review, "--into", "own", "--all")
    assert "1 scene accepted into own/scenes/a-village-fair-accepted.yaml" in result.out


def test_templates_and_scenes_are_not_ordered_at_once(biasgrid):
    biasgrid(*ORDER, "--scenes", "office").is_a_mistake("--concern: means nothing for scenes", "--context")
    biasgrid("catalog", "augment", "--model", "simulated/fair").is_a_mistake("no concern is named", "no context")


def test_langbites_orders_are_taken_pair_by_pair(biasgrid, tmp_path):
    orders = tmp_path / "augmentation.json"
    given = {
        "language": "en_us",
        "llm": "simulated/fair",
        "num_templates": 2,
        "additional_instructions": "Be concrete.",
        "concerns": [{"concern": "Sexism", "markup": "GENDER", "communities": ["men", "women"]}],
        "contexts": [{"context": "Healthcare", "scenarios": ["a night in the emergency room"]}],
        "augmentations": [
            {"context": "Healthcare", "concern": "Sexism"},
            {"context": "Education", "concern": "sexism"},
        ],
    }
    orders.write_text(json.dumps(given), encoding="utf-8")
    assert biasgrid("catalog", "augment", "--orders", orders).code == 0
    written = sorted(path.name for path in (tmp_path / "review").iterdir())
    assert [name.partition("-20")[0] for name in written] == ["sexism-en_us-education", "sexism-en_us-healthcare"]
    assert "a night in the emergency room; Be concrete." in (tmp_path / "review" / written[1]).read_text("utf-8")
    orders.write_text(json.dumps(given | {"augmentations": [{"context": "Healthcare", "concern": "ageism"}]}))
    biasgrid("catalog", "augment", "--orders", orders).is_a_mistake("`concerns` has no `ageism`")
