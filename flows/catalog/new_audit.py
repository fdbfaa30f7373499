"""`biasgrid init --audit`: an audit file that runs at once, and the applications that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from textwrap import indent
from typing import Any, Final

from biasgrid.catalogs.audit.masking import Person
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.flows.catalog.new_scenario import quote_name
from biasgrid.warehouse.storage.export_files import write_text

EXAMPLES: Final = Path(str(resources.files("biasgrid.catalogs"))) / "hiring"
AUDIT: Final = """\
# An audit: does a system decide differently about people when all else is the same?
# What is replaced in the documents: biasgrid prepare {name}
# What it would send, and what it can show: biasgrid plan {name}
# Run it: biasgrid audit {name}

audit:
  # `biasgrid list models` has more; `endpoint/<id>` is a service of yours
  models: [{models}]
  # your own prompt; `{{identity}}` becomes the line that shows who it is
  prompt: |
{prompt}
  # replace them by your own: a directory of .txt and .md files, or a .csv or .jsonl file with a `column`
  documents: {{path: {documents}}}
  # or {{kind: score, low: 0, high: 100}}
  decision: {{kind: yes_no}}
  language: {language}
  reference: men
  groups: [women]
  # each is reported alone: let two agree before you act
  signals: [names, pronouns]
  # of identities that each document is given
  pairs: 16
  # points that selection rates may be apart
  margin: 5

asking:
  # draws identities and spreads them over documents
  seed: 7
"""


def write_audit(path: Path, models: Sequence[str], language: str, *, force: bool = False) -> list[Path]:
    """Writes the file and its documents, and returns both places. Raises UserError for a language without
    examples, or if one of them exists."""
    example = _read_example(language)
    folder = path.parent / f"{path.stem}-documents"
    existing = [one for one in (path, folder) if one.exists() and not force]
    if existing:
        remedy = "name another file, or add `--force`"
        raise UserError(Problem(f"`{one}` exists", "FILE", remedy) for one in existing)
    for name, text in list_documents(example):
        write_text(folder / f"{name}.md", text)
    given = {
        "models": ", ".join(map(quote_name, models)),
        "language": example["id"],
        "prompt": indent(str(example["prompt"]).rstrip(), " " * 4),
    }
    text = AUDIT.format(name=path.name, documents=quote_name(folder.name), **given)
    return [write_text(path, text), folder]


def _read_example(language: str) -> Mapping[str, Any]:
    known = {file.stem: file for file in sorted(EXAMPLES.glob("*.yaml"))}
    language = next((name for name in known if name.partition("_")[0] == language), language)
    if language not in known:
        raise UserError(
            Problem(f"there are no example documents in `{language}`", "--language", nearest(language, known))
        )
    found: Mapping[str, Any] = load_yaml(known[language].read_text(encoding="utf-8"))
    return found


def list_documents(example: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each application, its advertisement first."""
    labels = example["labels"]
    for job in example["jobs"]:
        for number, applicant in enumerate(job["applicants"], start=1):
            name = applicant["name"]
            address = f"{Person(name, 'male').handle}@mail.example"
            person = f"{labels['name']}: {name}\n{labels['address']}: {address}"
            parts = (f"{labels['job']}: {job['advertisement']}", person, applicant["text"])
            yield f"{job['id']}-{number}", "\n\n".join(parts) + "\n"
