"""`biasgrid trace`: the origin of an id as a tree, JSON or SQL; trees of probes, red teams and interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from rich.text import Text
from rich.tree import Tree

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.results.trace_view import (
    OUTCOMES,
    Asked,
    Rendering,
    add_messages,
    add_reply,
    append_state,
    format_reason,
    print_lines,
    print_trees,
    show_trace,
)
from biasgrid.flows.results.trace_view import format_id_line as line
from biasgrid.flows.runs.kinds import find_kind
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import warn_of_unfinished
from biasgrid.flows.terminal.console import readable
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.tasks.aggregate.trace.benchmark import render_units, trace
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin, find_other_origin
from biasgrid.tasks.aggregate.trace.other_kinds import PAIR, TRIAL, ProbeTrace, keep_model, scores_sql, trace_probe
from biasgrid.tasks.report.figures import describe_worst, format_count, share
from biasgrid.tasks.transcripts.excerpt import Excerpt
from biasgrid.tasks.transcripts.plays import Play, Reading, Reply, plays
from biasgrid.tasks.transcripts.sessions import Exchange, Session, sessions
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run
from biasgrid.warehouse.storage.tombstones import refuse_forgotten
from biasgrid.warehouse.storage.verification import list_files, refuse_damaged

READ = {
    **dict.fromkeys(("stereotypical", "anti-stereotypical", "failed", "succeeded"), "red"),
    **dict.fromkeys(("counter", "balanced", "neutral", "passed", "resisted"), "green"),
}
"""Colours of what was read; all else is yellow."""
WORDS = {"passed": "right", "failed": "wrong", "error": "no reply"}


def trace_trials(lake: Lake, origin: OtherOrigin, asked: Asked) -> Rendering:
    """Trials of a probe, each with its prompts, replies and readings."""
    found = trace_probe(lake, origin, asked.examples, asked.model)
    return Rendering(found.as_json, found.as_sql, lambda: _show_probe(found))


def trace_sessions(lake: Lake, origin: OtherOrigin, asked: Asked) -> Rendering:
    """Sessions of a red team. Raises UserError if SQL or a model is wanted."""
    if asked.with_sql or asked.model:
        what = "a red team's sessions are shown one by one, whatever the model, and no SQL makes them"
        raise UserError(Problem(what, "--sql" if asked.with_sql else "--model", "leave it out"))
    found = sessions(lake, origin.run.run_id, origin.case_ids[: asked.examples])
    return Rendering(
        lambda _: render_units(origin, "sessions", found),
        str,
        lambda: _show(origin, "session", [_session_tree(origin, session) for session in found]),
    )


def trace_plays(lake: Lake, origin: OtherOrigin, asked: Asked) -> Rendering:
    """Plays of an interaction, round by round."""
    shown = keep_model(lake, origin, asked.model)
    found = plays(lake, origin.run.run_id, shown.case_ids[: asked.examples])
    hint = "how the scores were computed: add --sql"
    return Rendering(
        lambda _: render_units(shown, "plays", found),
        lambda: scores_sql(shown.run.run_id, found),
        lambda: _show(shown, "play", [_play_tree(shown, play) for play in found], hint),
    )


def _show(origin: OtherOrigin, what: str, trees: Sequence[Tree], *hints: str) -> None:
    """Prints the trees, then how to see more of them."""
    print_trees(_head(origin), trees)
    if len(trees) < len(origin.case_ids):
        print_lines(f"{len(trees)} of {format_count(len(origin.case_ids), what)} shown: --examples N for more")
    print_lines(*hints)


def _head(origin: OtherOrigin) -> str:
    """The id queried and its run."""
    run = origin.run
    also = f"; also in {format_count(len(origin.other_runs), 'other run')}" if origin.other_runs else ""
    labels = find_kind(run.kind).labels
    kind = labels.get(origin.kind, origin.kind)
    state = f"{run.state}, {run.started_at:%Y-%m-%d %H:%M} UTC"
    where = f"{kind} {origin.id} in {run.kind} {run.run_id} ({state}){also}"
    return readable(f"{where}: {format_count(len(origin.case_ids), labels.get('case', 'case'))}")


def _show_probe(found: ProbeTrace) -> None:
    trees = []
    for finding in found.findings:
        own = [trial for trial in found.trials if all(trial[name] == finding[name] for name in PAIR)]
        if own or len(found.findings) == 1:
            trees.append(_finding_tree(found, finding, own))
    trials = format_count(found.trials_in_all, "trial")
    print_trees(f"{_head(found.origin)}, {trials}", trees)
    if len(found.trials) < found.trials_in_all:
        print_lines(f"{len(found.trials)} of {trials} shown: --examples N for more")
    print_lines("how the finding was computed: add --sql")


def _finding_tree(found: ProbeTrace, row: Mapping[str, Any], trials: list[dict[str, Any]]) -> Tree:
    title = line(found.origin, row["pair"], row["pair"])
    title.append(readable(f" · {row['model']} · {row['language']} · {row['test']}: "))
    append_state(title, row["finding"])
    worst = describe_worst(row) if row["finding"] == "biased between groups" else ""
    title.append(readable(f" (worst off: {worst})" if worst else ""))
    title.append(
        f" – {row['stereotypical']} of {row['stereotypical'] + row['counter']} with the stereotype "
        f"({share(row['stereotypical_share'])}), {row['balanced']} neither way, {row['one_sided']} one-sided, "
        f"{row['refused']} refused, {row['unreadable']} unreadable, {row['errors']} without a reply"
    )
    tree = Tree(title, guide_style="dim")
    for trial in trials:
        below = tree.add(_trial(found, trial))
        for case in trial["cases"]:
            _add_case(below, found, case)
    return tree


def _trial(found: ProbeTrace, trial: Mapping[str, Any]) -> Text:
    title = Text(f"trial {trial['block'] + 1}: ")
    title.append(trial["fell"], style=READ.get(trial["fell"], "yellow"))
    score = "" if trial["score"] is None else f", score {trial['score']:+.2f}"
    return title.append_text(line(found.origin, trial[TRIAL[0]], f"{score} (cell {trial[TRIAL[0]]})"))


def _add_case(below: Tree, found: ProbeTrace, case: Mapping[str, Any]) -> None:
    part = f" ({case['part']})" if case["part"] else ""
    branch = below.add(line(found.origin, case["case_id"], f"prompt, case {case['case_id']}{part}"))
    branch.add(line(found.origin, case["request_key"], f"request {case['request_key']}"))
    add_messages(branch, case["messages"])
    for reply in case["responses"]:
        error = f"{reply['error_class']}: {reply['error_message']}"
        title = line(found.origin, reply["response_id"], f"response {reply['response_id']}")
        add_reply(branch.add(title), reply["text"], error)
    for verdict in case["verdicts"]:
        branch.add(_verdict(found, verdict))


def _verdict(found: ProbeTrace, row: Mapping[str, Any]) -> Text:
    title = Text("read as " if row["stands"] else "read before as ")
    read = row["parsed_text"] or row["outcome"] or f"{row['parsed_value']:g}"
    title.append(readable(read), style=OUTCOMES.get(row["outcome"] or "", "") if row["stands"] else "dim")
    verdict = f"{format_reason(row['reason'])} (verdict {row['verdict_id']})"
    return title.append_text(line(found.origin, row["verdict_id"], verdict))


def _session_tree(origin: OtherOrigin, session: Session) -> Tree:
    case, whole = session.case, session.verdict
    title = line(origin, case["case_id"], f"session {case['case_id']}")
    title.append(readable(f" · {case['input']} · {case['requirement']}: "))
    title.append(session.outcome, style=READ.get(session.outcome, "yellow"))
    if whole:
        why = f" – {whole['reason']} (verdict {whole['verdict_id']})"
        title.append_text(line(origin, whole["verdict_id"], why))
    tree = Tree(title, guide_style="dim")
    tree.add(line(origin, case["cell_id"], f"cell {case['cell_id']} · {case['model']} · {case['language']}"))
    tree.add(Text(readable(f"what would be biased: {case['template_text']}")))
    for exchange in session.exchanges:
        _add_exchange(tree.add(f"turn {exchange.turn}"), origin, exchange)
    return tree


def _add_exchange(branch: Tree, origin: OtherOrigin, exchange: Exchange) -> None:
    branch.add(Text(readable(f"user: {exchange.message}")))
    title = line(origin, exchange.response_id, f"response {exchange.response_id}")
    add_reply(branch.add(title), _whole(exchange.reply), exchange.error)
    if verdict := exchange.verdict:
        judged = Text("judged ")
        judged.append(readable(verdict["outcome"]), style=OUTCOMES.get(verdict["outcome"], ""))
        by = f" – {verdict['reason']} (by {verdict['assessor']}; verdict {verdict['verdict_id']})"
        branch.add(judged.append_text(line(origin, verdict["verdict_id"], by)))


def _whole(excerpt: Excerpt | None) -> str | None:
    """The text, and how much was omitted."""
    if excerpt is None:
        return None
    return excerpt.text + (f" … and {excerpt.left_out:,} more signs" if excerpt.left_out else "")


def _play_tree(origin: OtherOrigin, play: Play) -> Tree:
    case = play.case
    title = line(origin, case["play_id"], f"play {case['play_id']}")
    title.append_text(line(origin, case["scene"], f" · {case['scene']}"))
    tree = Tree(title.append(f", run {case['number']}"), guide_style="dim")
    tree.add(line(origin, case["domain"], f"{case['axis']} · {case['domain']}"))
    setting = f"{case['model']} · {case['language']} · {case['setting']} · mitigation {case['mitigation']}"
    tree.add(line(origin, case["cell_id"], f"cell {case['cell_id']} · {setting}"))
    _add_scene(tree.add(Text(readable(case["goal"]))), case)
    for one, replies in play.rounds():
        branch = tree.add(one)
        for reply in replies:
            _add_reply_of_play(branch, origin, reply)
    return tree


def _add_scene(branch: Tree, case: Mapping[str, Any]) -> None:
    for number, task in enumerate(case["tasks"] or (), 1):
        to = "no stereotype" if case["is_control"] else f"by stereotype: {task['to']}"
        wish = ", which each is asked in private to want" if number == case["wishes"] else ""
        branch.add(Text(readable(f"{number}. {task['text']} ({to}){wish}")))
    people = ", ".join(f"{person['name']} ({person['group']})" for person in case["people"] or ())
    if people:
        branch.add(Text(readable(people)))
    if case["presence"]:
        branch.add(f"implicit bias is in truth {case['presence']}")


def _add_reply_of_play(branch: Tree, origin: OtherOrigin, reply: Reply) -> None:
    if reply.asked:
        branch.add(Text(readable(f"asked: {_whole(reply.asked)}")))
    who = " · ".join(part for part in (reply.speaker, reply.group, reply.model) if part)
    below = branch.add(line(origin, reply.response_id, f"{who}, response {reply.response_id}"))
    add_reply(below, _whole(reply.text), reply.error)
    if reply.reading:
        _add_reading(below, origin, reply.reading)


def _add_reading(branch: Tree, origin: OtherOrigin, reading: Reading) -> None:
    title = Text("read as ")
    title.append(WORDS.get(reading.outcome, reading.outcome), style=READ.get(reading.outcome, "yellow"))
    branch.add(title.append(readable(format_reason(reading.reason))))
    if any(task["assigned_to"] or task["invented_names"] for task in reading.given):
        given = (f"{number} → {_format_assignment(task)}" for number, task in enumerate(reading.given, 1))
        branch.add(Text(readable(", ".join(given))))
    for number, verdict in enumerate(reversed(reading.verdicts)):
        by = "" if number == 0 else ", of an earlier evaluation"
        branch.add(line(origin, verdict["verdict_id"], f"verdict {verdict['verdict_id']}{by}"))


def _format_assignment(task: Mapping[str, Any]) -> str:
    """Who receives a task, or why no one does."""
    invented = [f"{name} (not of the scene)" for name in task["invented_names"]]
    return " and ".join([*task["assigned_to"], *invented]) or str(task["status"])


def show(asked: Asked) -> None:
    """Raises UserError for an id that is unknown or ambiguous, and where no warehouse has been built."""
    found = _trace(existing_lake(asked.data), asked)
    sql = found.as_sql() if asked.with_sql else None
    if asked.as_json:
        write_data(found.as_json(sql))
    elif sql is not None:
        write_data(sql)
    else:
        found.show()


def _trace(lake: Lake, asked: Asked) -> Rendering:
    refuse_damaged(lake, list_files(lake))
    refuse_forgotten(lake, asked.id.upper(), "trace")
    run_id = find_run(lake, asked.run, needs="trace").run_id if asked.run else None
    if origin := find_other_origin(lake, asked.id, asked.kind, run_id):
        warn_of_unfinished(lake, [origin.run])
        found: Rendering = resolve_name(find_kind(origin.run.kind).trace)(lake, origin, asked)
        return found
    whole = trace(lake, asked.id, kind=asked.kind, run_id=run_id, model=asked.model, examples=asked.examples)
    warn_of_unfinished(lake, [find_run(lake, whole.origin.run_id)])
    return Rendering(whole.as_json, whole.as_sql, lambda: show_trace(whole))
