"""Writes the answer of a run on its pull request, in place of the comment of an earlier job.

A script of its own, so that any Python of a runner runs it. GitHub's environment names pull request and address.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MOST = 60_000
"""Characters; GitHub refuses comments above 65,536."""
PAGE = 100
FAILED = "## biasgrid: there is no answer\n\nThe run ended with exit code {}: the job's log has the reason.\n"


def main() -> int:
    pull = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))["pull_request"]["number"]
    comments = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{int(pull)}/comments"
    # a comment for each scenario; its name is data, and no Markdown
    mark = f"<!-- biasgrid {hashlib.sha256(os.environ['SCENARIO'].encode()).hexdigest()[:16]} -->"
    try:
        earlier = find_comment(comments, mark)
        content = {"body": f"{mark}\n{shorten(read_summary())}"}
        if earlier is None:
            send("POST", comments, content)
        else:
            send("PATCH", f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{earlier}", content)
    except (urllib.error.URLError, TimeoutError) as error:
        # pull requests from forks may not write; the exit code of the run is what counts
        sys.stdout.write(f"::warning title=biasgrid::The answer was not commented: {error}\n")
    return 0


def read_summary() -> str:
    summary = Path(os.environ["REPORTS"]) / "summary.md"
    has_run = os.environ["CODE"] != "2" and summary.is_file()
    return summary.read_text(encoding="utf-8") if has_run else FAILED.format(int(os.environ["CODE"]))


def shorten(text: str) -> str:
    """The text, or as many of its lines as fit."""
    if len(text) <= MOST:
        return text
    kept = text[:MOST].rpartition("\n")[0]
    return f"{kept}\n\n… {text.count(chr(10)) - kept.count(chr(10))} more lines: the job's summary has them.\n"


def find_comment(comments: str, mark: str) -> int | None:
    """The id of the comment that begins with `mark`."""
    page = 1
    while found := send("GET", f"{comments}?per_page={PAGE}&page={page}"):
        for comment in found:
            if str(comment["body"]).startswith(mark):
                return int(comment["id"])
        page += 1
        if len(found) < PAGE:
            break
    return None


def send(method: str, path: str, content: Any = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the runner's own address
        os.environ["GITHUB_API_URL"] + path,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
        return json.load(reply)


if __name__ == "__main__":
    sys.exit(main())
