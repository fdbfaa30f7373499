"""Libraries that a person might write, in our format and in LangBiTe's, and what the check finds in them."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from biasgrid.catalogs.lint.check import Lint, lint
from biasgrid.catalogs.lint.subject import Rule, Subject
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.loading.langbite import COLUMNS

OF_POOLS = ("fewer than", "always answers", "reverse-keyed (")
"""Findings on many templates at once, which a few always have."""
Findings = list[tuple[int | None, str, str]]
Rows = Callable[..., Path]
Library = Callable[..., Path]


def list_findings(found: Lint) -> Findings:
    """Line, severity and text of each finding on a template of its own."""
    lines = [finding.as_json() for finding in found.findings]
    return [
        (line["line"], line["severity"], f"{line['what']} → {line['remedy']}")  # type: ignore[misc]
        for line in lines
        if not any(phrase in str(line["what"]) for phrase in OF_POOLS)
    ]


@pytest.fixture
def scan() -> Callable[[Path], Findings]:
    """Checks a library."""
    return lambda path: list_findings(lint(path))


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """Writes a table in LangBiTe's format: per row concern, prompt, and columns that differ."""

    def write(
        name: str, *given: tuple[str, str, dict[str, object]], shared: dict[str, str], extra: bool = False
    ) -> Path:
        lines = [[*COLUMNS, *([""] if extra else [])]]
        for number, (concern, prompt, more) in enumerate(given, 1):
            cells = {
                "prompt_id": str(number),
                "concern": concern,
                "input_type": "constrained",
                "reflection_type": "observational",
                "task_prefix": "",
                "prompt": prompt,
                "oracle": "expected value",
            } | shared
            cells |= {
                key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for key, value in more.items()
            }
            lines.append([*(cells[column] for column in COLUMNS), *([""] if extra else [])])
        path = tmp_path / name
        path.write_text("\n".join("\t".join(line) for line in lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Writes a file in our format: one template per text of its keys, each on a line of its own from line 4."""

    def write(*entries: str, language: str = "en_us", concern: str = "sexism", name: str = "") -> Path:
        head = f"language: {language}\nconcern: {concern}\ntemplates:\n"
        path = tmp_path / (name or f"{language}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + "".join(f"  - {{{entry}}}\n" for entry in entries), encoding="utf-8")
        return path

    return write


@pytest.fixture
def asking(library: Library) -> Library:
    """Writes a library of yes-or-no questions, given by their prompts alone."""

    def write(*prompts: str, language: str = "en_us", concern: str = "sexism") -> Path:
        entries = [
            f"id: q-{number}, input: constrained, reflection: observational, format: yes_no, oracle: denied, "
            f"prompt: {json.dumps(prompt, ensure_ascii=False)}"
            for number, prompt in enumerate(prompts)
        ]
        return library(*entries, language=language, concern=concern)

    return write


ONE_TEMPLATE = (
    "language: en_us\nconcern: sexism\ntemplates: [{id: a, input: constrained, reflection: utopian, "
    "prompt: 'Are {GENDER:plural} wise?', format: yes_no, oracle: affirmed}]\n"
)


def lay_over(directory: Path, files: Mapping[str, str]) -> Path:
    """Writes `ours.yaml` into folders of an overlay."""
    for folder, text in files.items():
        (directory / folder).mkdir()
        (directory / folder / "ours.yaml").write_text(text, encoding="utf-8")
    return directory


@pytest.fixture(scope="session")
def one_template(tmp_path_factory):
    """A library that is read at once."""
    path = tmp_path_factory.mktemp("library") / "en_us.yaml"
    path.write_text(ONE_TEMPLATE, encoding="utf-8")
    return path


@pytest.fixture
def find_in_overlay(one_template, tmp_path):
    """Lays files over the shipped catalog; findings of rules in them, in the order of the rules."""

    def find(rules: Iterable[Rule], **files: str) -> list[str]:
        reading = read_catalog(one_template, lay_over(tmp_path, files))
        assert not reading.mistakes
        found = [each for each in Subject(reading).apply(rules) if not each.mistake.where.startswith("catalogs/")]
        return [str(each).replace(f"{tmp_path}/", "") for each in found]

    return find
