"""Documents and files of audits."""

from pathlib import Path
from typing import Any

from support.flows import write_yaml

ROLES = ("accountant", "warehouse lead", "nurse", "data analyst", "baker")
PEOPLE = ("Jane Doe", "Robert Quill", "Helen Marsh", "Peter Vance")
PROMPT = "We hire an office manager. Should this applicant be invited to an interview?\n\n{document}"


def write_resumes(folder: Path, count: int = 12) -> Path:
    """Résumés that differ in their work, each about another person."""
    folder.mkdir(parents=True)
    for number in range(count):
        name = PEOPLE[number % len(PEOPLE)]
        subject = "She" if name.split()[0] in ("Jane", "Helen") else "He"
        work = f"{number % 13 + 1} years as {ROLES[number % len(ROLES)]} at firm {100 + number}"
        text = (
            f"# {name}\n{name.lower().replace(' ', '.')}@mail.com\n\nExperience: {work}.\n{subject} led a team.\n"
        )
        (folder / f"{number:03}.md").write_text(text)
    return folder


def write_audit(folder: Path, count: int = 12, **changes: Any) -> Path:
    """An audit file next to its résumés."""
    write_resumes(folder / "resumes", count)
    asked = {
        "models": ["simulated/decider-fair"],
        "prompt": PROMPT,
        "documents": {"path": "resumes"},
        "reference": "men",
        "groups": ["women"],
    }
    return write_yaml(folder / "audit.yaml", {"audit": asked | changes})
