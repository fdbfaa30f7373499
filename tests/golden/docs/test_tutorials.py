"""Every tutorial can be followed in an empty folder: its commands run, in order, and print what it shows."""

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support.http_server import listening
from support.paths import ROOT
from support.prefect_server import migrated_home

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PART = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
EXPECTED = re.compile(r"\s+# exit code (\d+)$")
PORTS = ("8080", "8081", "4200")


def as_script(page: Path) -> str:
    """One shell script of a page: a command that ends otherwise than the page states ends it."""
    lines = []
    for language, title, text in PART.findall(page.read_text(encoding="utf-8")):
        if title:
            lines += [f"mkdir -p {shlex.quote(str(Path(title).parent))}", f"cat > {title} <<'END OF FILE'"]
            lines += [text + "END OF FILE"]
        elif language == "sh":
            for line in text.splitlines():
                code = EXPECTED.search(line)
                lines += [EXPECTED.sub("", line), f"expect {code[1] if code else 0} {shlex.quote(line)}"]
    return "\n".join(lines)


def shown_lines(page: Path) -> set[str]:
    """What a page shows of what its commands print, without their spaces."""
    parts = PART.findall(page.read_text(encoding="utf-8"))
    lines = (line for language, title, text in parts if language == "text" for line in text.splitlines())
    return {" ".join(line.split()) for line in lines}


CHECK = 'expect() { code=$?; [ $code -eq $1 ] || { echo "$2 ended with exit code $code" >&2; exit 99; }; }\n'


def free_ports() -> dict[str, str]:
    with ExitStack() as held:
        servers = [held.enter_context(listening(lambda *_: (200, {}, b""))) for _ in PORTS]
        return {port: str(server.server_port) for port, server in zip(PORTS, servers, strict=True)}


@pytest.mark.drill
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed(page, tmp_path):
    script = CHECK + as_script(page)
    for port, free in free_ports().items():
        script = re.sub(rf"(?<=[: ]){port}\b", free, script)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("BIASGRID", "PREFECT"))
    }
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PREFECT_HOME": str(migrated_home(tmp_path / ".prefect")),
        "COLUMNS": "80",
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    printed = tmp_path / "printed"  # no pipe, which servers in the background would keep open
    with printed.open("w", encoding="utf-8") as out:
        shell = subprocess.Popen(
            ["bash", "-m", "-c", script],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert shell.wait(timeout=900) == 0, printed.read_text(encoding="utf-8")[-6_000:]
    finally:
        for process in left_over(shell.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shell.wait()
    text = printed.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert shown_lines(page) <= {" ".join(line.split()) for line in text.splitlines()}


def left_over(session: int) -> list[int]:
    """Processes of a session that still run, such as servers in the background."""
    found = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]
