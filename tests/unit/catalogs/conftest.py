"""Files that a person might write, below a temporary directory."""

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from biasgrid.catalogs.loading.langbite import COLUMNS
from support.prompted_cells import catalog

WrittenFile = Callable[[str, str], Path]
Row = dict[str, str]
Table = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> WrittenFile:
    """Writes a dedented text under a name and returns its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Writes a tab-separated library; each row is what differs from a well-formed template of sexism."""

    def write(*rows: Row, name: str = "prompts_en_us.csv", columns: tuple[str, ...] = COLUMNS) -> Path:
        lines = [columns]
        for number, row in enumerate(rows, 1):
            reported = {
                "prompt_id": str(number),
                "concern": "Sexism",
                "input_type": "constrained",
                "reflection_type": "observational",
                "task_prefix": "",
                "prompt": f"Is question {number} about {{GENDER1}} or {{GENDER2}}?",
                "output_formatting": 'Begin with "Yes" or "No".',
                "oracle": "expected value",
                "oracle_prediction": json.dumps({"operation": "allEqualExpected", "expected_value": ["No"]}),
            } | row
            lines.append(tuple(reported.get(column, "") for column in columns))
        path = tmp_path / name
        path.write_text("\n".join("\t".join(line) for line in lines) + "\n", encoding="utf-8")
        return path

    return write
