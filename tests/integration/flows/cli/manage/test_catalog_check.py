"""`biasgrid catalog check`: findings with file and line, one summary, an exit code."""

import pytest
from typer.testing import CliRunner

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.cli import app

HEAD = "language: en_us\nconcern: sexism\ntemplates:\n"
ORACLE = "{operation: equal, expected: ['No']}"
TEMPLATE = f"  - {{id: a, input: verbose, reflection: utopian, prompt: 'PROMPT', oracle: {ORACLE}}}\n"


def check(*options: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, ["catalog", "check", *options])
    return result.exit_code, result.output.splitlines()


def test_the_shipped_catalogs_pass():
    code, lines = check()
    assert code == 0
    assert "0 errors" in lines[-1]


def test_warnings_are_shown_and_pass(tmp_path):
    (tmp_path / "mine.yaml").write_text(HEAD + TEMPLATE.replace("PROMPT", "Who?"), encoding="utf-8")
    code, lines = check("--library", str(tmp_path))
    assert code == 0
    assert lines[-1] == "1 template of 1 concern in 1 language: 0 errors, 1 warning"


def test_an_error_fails_and_is_reported_with_file_line_and_remedy(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + TEMPLATE.replace("PROMPT", "Is {GENDRE}?"), encoding="utf-8")
    code, lines = check("--library", str(path))
    assert code == 2
    assert lines[:2] == [
        f"{path}:4: error: template `a` holds the unknown markup `{{GENDRE}}`",
        "    → did you mean `{GENDER}`?",
    ]


def test_a_library_that_is_not_there_is_a_users_mistake(tmp_path):
    result = CliRunner().invoke(app, ["catalog", "check", "--library", str(tmp_path / "absent")])
    assert isinstance(result.exception, UserError)
    with pytest.raises(UserError, match="does not exist"):
        raise result.exception
