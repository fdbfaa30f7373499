"""Every command of README and docs is one that biasgrid takes, and every link leads somewhere."""

import re
import runpy
import shlex
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from biasgrid.flows.cli.commands import make_app
from support.paths import ROOT

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "catalogs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference.py"))
ENDS = {"|", "&", "&&", ";", ">", "||"}
"""Where a command of a shell's line ends."""


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each `biasgrid` in the page's shell blocks."""
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language not in ("sh", "bash", "console"):
            continue
        for words in lines(text):
            starts = [0, *(at + 1 for at, word in enumerate(words) if word in ENDS)]
            for start in starts:
                rest = [*dropwhile(lambda word: re.match(r"\w+=", word), words[start:])]
                if rest[:1] == ["biasgrid"]:
                    yield [*takewhile(lambda word: word not in ENDS, rest[1:])]


def lines(text: str) -> Iterator[list[str]]:
    """The words of each line, and of following ones where a quotation is not closed."""
    held = ""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(held + line, posix=True, punctuation_chars="|&;>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        try:
            words, held = list(lexer), ""
        except ValueError:
            held += f"{line}\n"
        else:
            yield words


ALL = [(page.relative_to(ROOT).as_posix(), words) for page in PAGES for words in commands(page)]


def test_there_are_commands_to_check():
    assert len(ALL) > 120


@pytest.fixture(scope="module")
def app() -> Any:
    return get_command(make_app())


@pytest.mark.parametrize(
    ("page", "words"), ALL, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_command_is_one_that_biasgrid_takes(app, page, words):
    command, context = app, None
    while hasattr(command, "resolve_command"):
        context = command.make_context("biasgrid", list(words), parent=context)
        left = [*context._protected_args, *context.args]
        if not left:
            return  # a group that runs without a command of its own
        _, command, words = command.resolve_command(context, left)
    command.make_context(command.name, list(words), parent=context)


def anchors(page: Path) -> set[str]:
    """Those that GitHub gives the headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    dead = []
    for target in LINK.findall(text):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = (page.parent / file) if file else page
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert dead == []


def test_every_page_can_be_reached_from_the_readme():
    reached, left = set(), [README]
    while left:
        page = left.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")))
        left += [(page.parent / link).resolve() for link in links if link and "://" not in link]
    assert {page.name for page in PAGES if page.resolve() not in reached} == set()


def test_the_help_of_every_command_ends_with_an_example(app):
    for name, command in REFERENCE["walk_commands"](app):
        assert f"`biasgrid {name}" in command.help, name


def test_the_pages_that_code_writes_are_fresh():
    for page, write in REFERENCE["PAGES"].items():
        assert (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8") == write(), "run `make reference`"


def test_the_pictures_show_what_the_macros_compute():
    for picture in runpy.run_path(str(ROOT / "docs" / "pictures.py"))["draw_all"]():
        drawn = ROOT / "docs" / "statistics" / f"{picture.name}.svg"
        assert drawn.read_text(encoding="utf-8") == picture.svg, "run `make reference`"


def test_every_page_has_a_place_in_the_site():
    listed = set(
        re.findall(r"^ *- (?:\w+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} <= listed


def test_the_readme_is_short_and_names_the_command_of_the_tests():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "make test" in text
