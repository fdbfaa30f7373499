"""Renders an interaction trace as trees: play, rounds, messages, assignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text
from rich.tree import Tree

from biasgrid.flows.probe.trace_view import head, line
from biasgrid.flows.redteam.trace_view import show_left_out, whole
from biasgrid.flows.terminal.console import console, readable
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin
from biasgrid.tasks.transcripts.plays import Play, Reading, Reply

READ = {
    "stereotypical": "red",
    "anti-stereotypical": "red",
    "neutral": "green",
    "passed": "green",
    "failed": "red",
}
WORDS = {"passed": "right", "failed": "wrong", "error": "no reply"}


def show_plays(origin: OtherOrigin, plays: Sequence[Play]) -> None:
    """Prints each play as a tree, then how to see more of them."""
    out = console()
    out.print(Text(head(origin)), soft_wrap=True)
    for play in plays:
        out.print(_tree(origin, play))
    show_left_out(out, origin, len(plays), "play")
    out.print(Text("how the scores were computed: add --sql"))


def _tree(origin: OtherOrigin, play: Play) -> Tree:
    case = play.case
    told = line(origin, case["play_id"], f"play {case['play_id']}")
    told.append_text(line(origin, case["scene"], f" · {case['scene']}"))
    tree = Tree(told.append(f", run {case['number']}"), guide_style="dim")
    tree.add(line(origin, case["domain"], f"{case['axis']} · {case['domain']}"))
    setting = f"{case['model']} · {case['language']} · {case['setting']} · mitigation {case['mitigation']}"
    tree.add(line(origin, case["cell_id"], f"cell {case['cell_id']} · {setting}"))
    _add_scene(tree.add(Text(readable(case["goal"]))), case)
    for one, replies in play.rounds():
        branch = tree.add(one)
        for reply in replies:
            _add_reply(branch, origin, reply)
    return tree


def _add_scene(branch: Tree, case: Mapping[str, Any]) -> None:
    for number, task in enumerate(case["tasks"] or (), 1):
        to = "no stereotype" if case["is_control"] else f"by stereotype: {task['to']}"
        wish = ", which each is told in private to want" if number == case["wishes"] else ""
        branch.add(Text(readable(f"{number}. {task['text']} ({to}){wish}")))
    people = ", ".join(f"{person['name']} ({person['group']})" for person in case["people"] or ())
    if people:
        branch.add(Text(readable(people)))
    if case["presence"]:
        branch.add(f"implicit bias is in truth {case['presence']}")


def _add_reply(branch: Tree, origin: OtherOrigin, reply: Reply) -> None:
    if reply.asked:
        branch.add(Text(readable(f"asked: {whole(reply.asked)}")))
    who = " · ".join(part for part in (reply.speaker, reply.group, reply.model) if part)
    told = branch.add(line(origin, reply.response_id, f"{who}, response {reply.response_id}"))
    if reply.text is None:
        told.add(Text(readable(f"no reply – {reply.error}"), style="yellow"))
    else:
        told.add(Text(readable(whole(reply.text)), style="bold"))
    if reply.reading:
        _add_reading(told, origin, reply.reading)


def _add_reading(branch: Tree, origin: OtherOrigin, reading: Reading) -> None:
    said = Text("read as ")
    said.append(WORDS.get(reading.outcome, reading.outcome), style=READ.get(reading.outcome, "yellow"))
    branch.add(said.append(readable(f" – {reading.reason}")) if reading.reason else said)
    if any(task["assigned_to"] or task["invented_names"] for task in reading.given):
        given = (f"{number} → {_given(task)}" for number, task in enumerate(reading.given, 1))
        branch.add(Text(readable(", ".join(given))))
    for number, verdict in enumerate(reversed(reading.verdicts)):
        by = "" if number == 0 else ", of an earlier evaluation"
        branch.add(line(origin, verdict["verdict_id"], f"verdict {verdict['verdict_id']}{by}"))


def _given(task: Mapping[str, Any]) -> str:
    """Who receives a task, or why no one does."""
    invented = [f"{name} (not of the scene)" for name in task["invented_names"]]
    return " and ".join([*task["assigned_to"], *invented]) or str(task["status"])
