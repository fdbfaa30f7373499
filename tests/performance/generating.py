"""Seconds to load every catalog, and to generate all cases of `full` for sixteen models, compared with bare loops.

    python tests/performance/generating.py [models]

The floor of loading is PyYAML's C parser over the same files, unchecked; that of generating is a Python loop that
fills the same slots and hashes each request, and keeps nothing else.
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import polars as pl
import yaml
from rig.timing import time_of

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.scenario.scenario import Overrides, ResolvedScenario, resolve
from biasgrid.tasks.generate.cases import cases, land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake


def parse_all() -> int:
    paths = Path(str(resources.files("biasgrid.catalogs"))).rglob("*.yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return sum(yaml.load(path.read_text(encoding="utf-8"), Loader=loader) is not None for path in paths)


def fill_templates(scenario: ResolvedScenario) -> list[pl.DataFrame]:
    settings, catalog = scenario.scenario.scenario, scenario.catalog
    return [
        instances(requirement, language, catalog, settings)
        for requirement in scenario.requirements
        for language in requirement.languages
    ]


def generate(scenario: ResolvedScenario) -> int:
    settings, targets = scenario.scenario.scenario, scenario.targets.values()
    return sum(cases(frame, targets, settings, scenario.catalog).height for frame in fill_templates(scenario))


def land(scenario: ResolvedScenario) -> int:
    settings, targets = scenario.scenario.scenario, scenario.targets.values()
    with tempfile.TemporaryDirectory() as folder:
        planned = [
            land_cases(Lake(Path(folder)), "R1", frame, targets, settings, scenario.catalog)["planned"].sum()
            for frame in fill_templates(scenario)
        ]
    return sum(map(int, planned))


def bare_loop(texts: Iterable[tuple[str, str]], models: Iterable[str]) -> int:
    """Fills one slot of each text and hashes it with each model's name."""
    asked = [text.replace("{}", community) for text, community in texts]
    keys = {
        hashlib.blake2b(f"{model}{text}".encode(), digest_size=16).hexdigest()
        for model in models
        for text in asked
    }
    return len(keys)


def main() -> None:
    models = [f"ollama/model-{number}" for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 16)]
    floor, files = time_of(parse_all)
    loading, catalog = time_of(load_catalog)
    read = f"{len(catalog.templates):,} templates of {files} files"
    print(f"loading {read}: {loading:.2f} s, {loading / floor:.1f} of the parser alone")
    resolving, scenario = time_of(lambda: resolve("full", Overrides(models=models)))
    generating, count = time_of(lambda: generate(scenario))
    texts = [(text, "") for frame in fill_templates(scenario) for text in frame["text"]]
    bare, _ = time_of(lambda: bare_loop(texts, models))
    print(f"resolving `full` for {len(models)} models, catalogs included: {resolving:.2f} s")
    print(f"generating {count:,} cases: {generating:.2f} s, {generating / bare:.1f} of a bare loop")
    landing, landed = time_of(lambda: land(scenario), times=1)
    print(f"generating and landing {landed:,} cases as Parquet: {landing:.2f} s")


if __name__ == "__main__":
    main()
