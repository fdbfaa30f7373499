"""Interaction files: names resolved, and every mistake found at once with its place."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.interaction import ResolvedInteraction, resolve_interaction

MODELS: dict[str, Any] = {"interaction": {"models": ["simulated/fair"]}}


def resolve_file(**own: Any) -> ResolvedInteraction:
    return resolve_interaction({"interaction": MODELS["interaction"] | own})


def ids(found: ResolvedInteraction) -> set[str]:
    return {scene.id for _, scene in found.scenes}


def mistakes(own: dict[str, Any], folder: Path) -> str:
    path = folder / "talks.yaml"
    path.write_text(yaml.safe_dump({"interaction": own}, sort_keys=False))
    with pytest.raises(UserError) as raised:
        resolve_interaction(str(path))
    return str(raised.value)


def test_every_unknown_name_is_reported_at_once_with_its_line_and_what_is_near(tmp_path):
    own = {
        "models": ["simulated/fare"],
        "casts": {"mixed": ["simulated/fair", "simulated/confirming"]},
        "tuned": {"simulated/fair": "simulated/hidding"},
        "languages": ["en_uk"],
        "domains": ["ofice"],
        "axes": ["gendr"],
        "scenes": ["office-tax-audits"],
        "protocol": "studdy",
    }
    reported = mistakes(own, tmp_path)
    for part in (
        *("`simulated/fare`", "talks.yaml:3:"),
        *("`simulated/confirming`", "did you mean `conforming`?", "talks.yaml:7:"),
        *("`simulated/hidding`", "did you mean `hiding`?"),
        *("language `en_uk` is unknown", "`en_us`"),
        *("domain `ofice` is unknown", "`office`"),
        *("axis `gendr` is unknown", "`gender`"),
        *("scene `office-tax-audits` is unknown", "`office-tax-audit`"),
        *("protocol `studdy` is unknown", "`study`", "talks.yaml:18:"),
    ):
        assert part in reported
    assert "takes no part" in reported


@pytest.mark.parametrize(
    ("own", "part"),
    [
        ({"casts": {"mixed": ["simulated/fair"]}}, "cast `mixed` has fewer than two models"),
        ({"models": ["simulated/fair", "simulated/fair"]}, "names one twice"),
        ({"models": ["simulated/fair"], "settings": []}, "settings"),
        ({"models": ["simulated/fair"], "settings": ["no_gaol"]}, "did you mean `no_goal`"),
        ({"models": ["simulated/fair"], "mitigations": ["reflexion"]}, "did you mean `reflection`"),
        ({"models": ["simulated/fair"], "scenes": 0}, "must be a number from 1"),
        ({"models": ["simulated/fair"], "runs": 0}, "`interaction.runs`"),
        ({"models": ["simulated/fair"], "rounds": 3}, "`interaction.rounds` is not a known key"),
        ({"models": []}, "no model is named"),
    ],
)
def test_what_makes_no_sense(tmp_path, own, part):
    assert part in mistakes(own, tmp_path)


def test_misspelt_keys_and_unknown_models_are_reported_together(tmp_path):
    reported = mistakes({"models": ["simulated/fare"], "setings": ["goal"], "runs": 0}, tmp_path)
    assert all(part in reported for part in ("`simulated/fare`", "did you mean `settings`?", "at least 1"))


def test_a_tuned_model_has_to_take_part_with_what_it_was_tuned_from(tmp_path):
    own = {"models": ["simulated/fair"], "tuned": {"simulated/conforming": "simulated/fair"}}
    assert "`simulated/conforming` takes no part" in mistakes(own, tmp_path)
    both = ["simulated/fair", "simulated/conforming"]
    found = resolve_file(models=both, tuned=own["tuned"])
    assert found.file.interaction.tuned == {"simulated/conforming": "simulated/fair"}


def test_where_no_scene_fits_that_is_a_mistake_but_not_where_none_is_played():
    nothing = {"domains": ["generations"], "axes": ["ethnicity"]}
    with pytest.raises(UserError, match="no scene fits"):
        resolve_file(**nothing)
    assert resolve_file(**nothing, settings=["understanding"]).scenes == ()


def test_models_given_with_the_file_take_the_place_of_all_who_play(tmp_path):
    path = tmp_path / "talks.yaml"
    own = {"casts": {"mixed": ["simulated/fair", "simulated/conforming"]}, "tuned": {"a/b": "c/d"}}
    path.write_text(yaml.safe_dump({"interaction": own}))
    found = resolve_interaction(str(path), {("interaction", "models"): ("--model", ["simulated/hiding"])})
    assert list(found.players) == list(found.targets) == ["simulated/hiding"]


def test_players_are_models_and_casts_and_each_model_is_asked_for_once():
    found = resolve_file(casts={"mixed": ["simulated/fair", "simulated/conforming"]})
    assert list(found.players) == ["simulated/fair", "cast/mixed"]
    assert [target.model for target in found.players["cast/mixed"]] == ["simulated/fair", "simulated/conforming"]
    assert set(found.targets) == {"simulated/fair", "simulated/conforming"}


def test_a_number_of_scenes_is_drawn_over_all_domains_by_seed_alone():
    every = resolve_file(scenes="all")
    domains = {domain.id for domain, _ in every.scenes}
    drawn = resolve_file(scenes=2 * len(domains))
    counts = Counter(domain.id for domain, _ in drawn.scenes)
    assert set(counts) == domains
    assert max(counts.values()) - min(counts.values()) <= 1
    assert drawn.scenes == resolve_file(scenes=2 * len(domains), models=["simulated/conforming"]).scenes
    assert ids(resolve_file(scenes=3)) < ids(drawn) < ids(every)
    assert ids(resolve_interaction(MODELS | {"asking": {"seed": 8}})) != ids(resolve_interaction(MODELS))


def test_all_is_every_scene_that_is_not_kept_back():
    every = resolve_file(scenes="all")
    assert len(every.scenes) > 100
    assert not any(domain.held_out or domain.by_name for domain, _ in every.scenes)
    held_out = resolve_file(scenes="all", domains=["media"]).scenes
    assert held_out
    assert all(domain.held_out for domain, _ in held_out)


def test_scenes_that_are_named_are_played_whatever_their_domain():
    found = resolve_file(scenes=["school-case-lead", "office-tax-audit"])
    assert sorted(scene.id for _, scene in found.scenes) == ["office-tax-audit", "school-case-lead"]


def test_a_resolved_file_resolves_to_itself():
    found = resolve_file(casts={"mixed": ["simulated/fair", "simulated/conforming"]}, scenes=4)
    again = resolve_interaction(found.as_json())
    assert (again.name, again.players, again.scenes) == (found.name, found.players, found.scenes)
    assert again.file.interaction == found.file.interaction
