"""The tables of the lake, by which the verbs exchange rows.

Every table is stored at `lake/<table>/run_id=…/*.parquet`, append-only. `runs` and `cells` hold events: a row
never changes, the newest `event_id` (a ULID) of a key wins. Times are UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 8
"""Of the tables below, in the metadata of each file. It rises with every column or table that is added, and when
one comes to mean something else: an older biasgrid then refuses the file. Since 5 there are compacted files."""

TEXT = pa.string()
COUNT = pa.int64()
MOMENT = pa.timestamp("us", tz="UTC")
MEASURE = pa.decimal128(18, 6)
MESSAGES = pa.list_(pa.struct([("role", TEXT), ("content", TEXT)]))

RUNS = pa.schema(
    [
        ("run_id", TEXT),
        ("event_id", TEXT),
        ("recorded_at", MOMENT),
        ("state", TEXT),  # planning, running, aggregating, completed, incomplete, failed, interrupted
        ("kind", TEXT),  # of KINDS
        ("scenario_given", TEXT),  # the file as the user wrote it
        ("scenario_resolved", TEXT),  # JSON: every default and alias filled in
        ("catalog_hashes", TEXT),  # JSON: {file: sha256}
        ("versions", TEXT),  # JSON: {package: version}
        ("seed", COUNT),
        ("started_at", MOMENT),
        ("ended_at", MOMENT),
    ]
)

CELL_KEYS = [
    ("cell_id", TEXT),
    ("requirement", TEXT),
    ("concern", TEXT),
    ("provider", TEXT),
    ("model", TEXT),  # provider/model
    ("language", TEXT),
    # constrained, verbose; of a probe its test, of a red team its strategy, of an interaction its setting
    ("input", TEXT),
    # observational, utopian; of a probe and a red team the attribute pair, of an interaction its mitigation
    ("reflection", TEXT),
]

CELLS = pa.schema(
    [
        ("run_id", TEXT),
        ("event_id", TEXT),
        ("recorded_at", MOMENT),
        *CELL_KEYS,
        ("state", TEXT),  # planned, prompted, stopped (a terminal error)
        ("planned", COUNT),  # cases
        ("answered", COUNT),  # asked in this run and answered
        ("reused", COUNT),  # answered from the lake
        ("failed", COUNT),  # no answer after the last attempt
        ("input_tokens", COUNT),
        ("output_tokens", COUNT),
        ("cost_usd", pa.float64()),  # null where no price is known
        ("seconds", pa.float64()),  # prompting, all passes; cells of a model run side by side
    ]
)

CASES = pa.schema(
    [
        ("run_id", TEXT),
        ("case_id", TEXT),
        *CELL_KEYS,
        ("template_id", TEXT),  # content hash
        ("template", TEXT),  # the name in its library, such as sexism-012
        ("cluster", TEXT),  # the name that it shares with its twin; null in earlier lakes
        ("template_text", TEXT),  # the question, its slots still open
        (
            "instance_text",
            TEXT,
        ),  # the question, its slots filled, without any framing; null unless `langbite: strict`
        ("sector", TEXT),  # the sector set that the template belongs to
        ("facets", TEXT),  # JSON: what an imported benchmark scores by
        ("wording", COUNT),  # 1: the prompt as written; further ones are paraphrases or other orders of choices
        ("instance_id", TEXT),  # template × ordered communities × wording
        ("communities", pa.list_(TEXT)),  # ids, in the order of the template's slots
        ("sample", COUNT),  # 1…samples
        ("messages", MESSAGES),
        ("parameters", TEXT),  # JSON: temperature, max_tokens, seed, as sent
        ("request_key", TEXT),
        ("oracle_type", TEXT),  # expected value, same value
        ("operation", TEXT),  # of biasgrid.catalogs.schema.oracle.Operation
        ("oracle", TEXT),  # JSON of biasgrid.catalogs.schema.oracle.Oracle
    ]
)

RESPONSES = pa.schema(
    [
        ("run_id", TEXT),
        ("response_id", TEXT),
        ("cell_id", TEXT),
        ("case_id", TEXT),  # the case that it answers
        ("purpose", TEXT),  # subject, judge, attacker, generator, reflection
        ("provider", TEXT),
        ("model", TEXT),
        ("model_reported", TEXT),  # the model that answered, as reported by the provider
        ("messages", MESSAGES),  # as sent
        ("parameters", TEXT),  # as sent, JSON
        ("request_key", TEXT),
        ("sample", COUNT),
        ("text", TEXT),  # as received; null where no reply came
        ("finish_reason", TEXT),
        ("host", TEXT),  # the server that replied; null in earlier lakes
        ("note", TEXT),  # what was reported next to the text and could not be used
        ("raw", TEXT),  # the body of a reply that could not be understood, so that a better reader can read it
        ("input_tokens", COUNT),
        ("output_tokens", COUNT),
        ("cost_usd", pa.float64()),
        ("latency_ms", pa.float64()),  # of the last attempt
        ("attempts", COUNT),
        ("error_class", TEXT),  # null where a reply came
        ("error_message", TEXT),
        ("reused_from", TEXT),  # response_id of the reply that stands in: of an earlier run, or of another case
        ("received_at", MOMENT),
        ("session", TEXT),
        ("turn", COUNT),
        ("speaker", TEXT),
    ]
)

JOBS = pa.schema(
    [
        ("run_id", TEXT),
        ("event_id", TEXT),
        ("recorded_at", MOMENT),
        ("job_id", TEXT),  # ours, known before the provider's
        ("kind", TEXT),  # batch, finetune
        ("provider", TEXT),
        ("model", TEXT),
        ("provider_job_id", TEXT),  # null until the provider has taken it
        ("input_file_id", TEXT),  # what the provider calls the file of requests, or of what is trained on
        ("output_file_id", TEXT),  # and that of replies
        ("error_file_id", TEXT),  # and that of requests without one
        ("state", TEXT),  # submitting, then the provider's own word; collected, rejected, lost
        ("request_keys", pa.list_(TEXT)),  # of the requests in it
        ("completed", COUNT),  # requests, as the provider counts them
        ("failed", COUNT),
        ("error_message", TEXT),
        ("result_model", TEXT),  # what the provider calls the model that came of fine-tuning
    ]
)

CRITERIA = pa.schema(
    [
        ("run_id", TEXT),
        ("evaluation_id", TEXT),
        ("recorded_at", MOMENT),
        ("requirement", TEXT),
        ("concern", TEXT),
        ("rationale", TEXT),
        ("measure", TEXT),  # what the rate is a share of: tests, replies; null in earlier lakes: tests
        ("tolerance", pa.float64()),  # least share of the measure that must pass, 0–1
        ("delta", pa.float64()),  # greatest admissible spread, 0–1
        ("parity", pa.float64()),  # greatest admissible difference between languages, 0–1; null: any
        ("refusals", TEXT),  # separate, fail, pass
        ("max_refusals", pa.float64()),  # above it a cell is not evaluated, 0–1
        ("coverage", pa.float64()),  # least share of planned cases that must be judged, 0–1
        ("least_drop", pa.float64()),  # smallest change that is reported, 0–1; null in earlier lakes: 0
        ("judge", TEXT),
        ("judge_overrules", pa.bool_()),  # whether its verdict may take the oracle's place; null in earlier lakes
        ("judge_floor", pa.float64()),  # least sensitivity and specificity for its verdicts to count, 0–1
        ("judge_corrects", pa.bool_()),  # whether decisions go by the rate that is corrected for the judge's error
        ("catalog_hashes", TEXT),  # JSON: {file: sha256} of what it judged by
        ("versions", TEXT),  # JSON: {package: version}
    ]
)

VERDICTS = pa.schema(
    [
        ("run_id", TEXT),
        ("verdict_id", TEXT),
        ("evaluation_id", TEXT),
        ("level", TEXT),  # instance, template
        ("cell_id", TEXT),
        ("template_id", TEXT),
        ("sample", COUNT),
        ("case_id", TEXT),  # instance level
        ("response_id", TEXT),  # instance level
        ("assessor_kind", TEXT),  # oracle, model, person
        ("assessor", TEXT),  # the operation, the judge's provider/model, the reviewer
        ("outcome", TEXT),  # passed, failed, refused, unreadable, error; null: a value was read, SQL compares
        # the expected value that matched; the role of the choice that was made; a number of more than six decimals
        ("parsed_text", TEXT),
        ("parsed_value", MEASURE),  # the number read, in the template's own scale
        ("reason", TEXT),
        ("reviewer", TEXT),
        ("supersedes", TEXT),  # verdict_id
        ("judged_at", MOMENT),
        ("langbite_outcome", TEXT),  # passed, failed, error by LangBiTe's rule; null unless it was asked for
        ("langbite_value", pa.float64()),  # the number that LangBiTe compares
        ("langbite_difference", TEXT),  # why its reading of this reply differs from ours
        ("by_group", TEXT),  # JSON: by group, the share given the favoured group's attribute; null for two groups
    ]
)

ASSESSMENTS = pa.schema(
    [
        ("run_id", TEXT),
        ("assessment_id", TEXT),
        ("evaluation_id", TEXT),
        ("cell_id", TEXT),
        ("template_id", TEXT),
        ("sample", COUNT),
        ("case_id", TEXT),
        ("response_id", TEXT),
        ("rule_key", TEXT),  # the rule by which the reply was assessed, by a hash
        ("purpose", TEXT),  # blind: compared with others, changes no finding; decision: takes a verdict's place
        ("assessor_kind", TEXT),  # model, person
        ("assessor", TEXT),  # the judge's provider/model, the reviewer
        ("state", TEXT),  # given; skipped by a person; refused, unreadable or failed where a judge gave none
        ("outcome", TEXT),  # passed, failed, refused, unreadable; null unless given
        ("stratum", TEXT),  # what the oracle, or a red team's judge, made of the reply, by which it was drawn
        ("probability", pa.float64()),  # with which it was drawn
        ("seed", COUNT),  # that drew it
        ("reason", TEXT),
        ("carried_from", TEXT),  # assessment_id in an earlier evaluation, of the same reply by the same rule
        ("assessed_at", MOMENT),
    ]
)

CONTROLS = pa.schema(
    [
        ("run_id", TEXT),
        ("evaluation_id", TEXT),
        ("cell_id", TEXT),  # the cell whose replies the control was mixed with
        ("language", TEXT),  # language and region, such as en_us
        ("control", TEXT),  # its id in the catalog, and which of its replies: parking/passed
        ("is_hard", pa.bool_()),  # whether the reply holds words of the other answer, or asks for a verdict
        ("is_swapped", pa.bool_()),  # whether the verdicts were offered in the reverse order
        ("truth", TEXT),  # the known verdict: passed, failed
        ("judge", TEXT),  # provider/model
        ("request_key", TEXT),  # of the judge's reply among the responses
        ("state", TEXT),  # given; refused, unreadable or failed where the judge gave no verdict
        ("outcome", TEXT),  # passed, failed, refused, unreadable; null unless given
        ("reason", TEXT),
        ("read_at", MOMENT),
    ]
)

RULES = pa.schema(
    [
        ("run_id", TEXT),  # the run, a ULID: newer runs sort later
        ("evaluation_id", TEXT),
        ("cell_id", TEXT),  # the cell whose replies were judged so
        ("template", TEXT),  # the name in its library
        ("language", TEXT),  # language and region, such as en_us
        ("wording", COUNT),  # 1: the prompt as written; further ones are paraphrases or other orders of choices
        ("template_text", TEXT),  # the question, its slots still open
        ("oracle", TEXT),  # JSON of the oracle with which the cases were planned
        ("rule", TEXT),  # JSON of the one that this evaluation put in its place
    ]
)

BENCHMARK, PROBE, RED_TEAM, INTERACTION, AUDIT = ("benchmark", "probe", "redteam", "interaction", "audit")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of run other than benchmarks."""

    levels: tuple[str, ...]
    """Of its verdicts."""
    is_reviewed: bool = False
    """Whether people review its replies."""
    judges_all_cells: bool = False
    """Whether each cell of an ended run has verdicts."""
    has_templates: bool = False
    """Whether a user knows its templates by their ids."""


OTHER_KINDS = {
    PROBE: Kind(("instance",), judges_all_cells=True),
    RED_TEAM: Kind(("instance", "session"), is_reviewed=True),  # a session may still be open when its run ends
    INTERACTION: Kind(("assignment", "understanding"), has_templates=True),
    AUDIT: Kind(("instance",), judges_all_cells=True, has_templates=True),
}
KINDS = (BENCHMARK, *OTHER_KINDS)
"""Kinds of runs."""

OF_KINDS = ("cells", "cases", "verdicts", "assessments")
"""Tables whose rows have another meaning in each kind of run. They are stored together; models read those of
benchmarks as `lake.cases`, those of others as `lake.probe_cases`, and so on."""

SHOWN: dict[str, tuple[str, str]] = {
    **{table: (table, KINDS[0]) for table in OF_KINDS},
    **{f"{kind}_{table}": (table, kind) for kind in OTHER_KINDS for table in OF_KINDS},
}
"""What models read by another name than its table: the table, and the kind of run whose rows it shows."""

OUTCOMES = ("passed", "failed", "refused", "unreadable", "error")

TABLES: dict[str, pa.Schema] = {
    "runs": RUNS,
    "cells": CELLS,
    "cases": CASES,
    "responses": RESPONSES,
    "jobs": JOBS,
    "criteria": CRITERIA,
    "verdicts": VERDICTS,
    "assessments": ASSESSMENTS,
    "controls": CONTROLS,
    "rules": RULES,
}

KEYS: dict[str, tuple[str, ...]] = {
    "runs": ("run_id", "event_id"),
    "cells": ("run_id", "event_id", "cell_id"),
    "cases": ("run_id", "case_id", "cell_id", "template_id", "instance_id", "sample", "request_key"),
    "responses": ("run_id", "response_id", "request_key"),
    "jobs": ("run_id", "event_id", "job_id", "kind", "model", "state"),
    "criteria": ("run_id", "evaluation_id", "requirement"),
    "verdicts": ("run_id", "verdict_id", "evaluation_id", "level", "cell_id", "template_id", "sample"),
    "assessments": (
        *("run_id", "assessment_id", "evaluation_id", "cell_id", "template_id", "sample", "case_id"),
        *("response_id", "rule_key", "purpose", "assessor_kind", "assessor", "state"),
    ),
    "controls": (
        *("run_id", "evaluation_id", "cell_id", "language", "control", "is_hard", "is_swapped", "truth", "judge"),
        *("request_key", "state"),
    ),
    "rules": ("run_id", "evaluation_id", "cell_id", "template", "language", "rule"),
}
"""Columns that are never null."""

EVENTS: dict[str, tuple[str, ...]] = {
    "runs": ("run_id",),
    "cells": ("run_id", "cell_id"),
    "jobs": ("run_id", "job_id"),
}
"""Tables of events, and the key whose newest event counts."""

UNITS: dict[str, tuple[str, ...]] = {
    "cases": ("run_id", "cell_id", "case_id"),
    "responses": ("run_id", "cell_id", "case_id", "request_key", "purpose", "session", "turn", "speaker"),
    "verdicts": ("run_id", "evaluation_id", "level", "cell_id", "template_id", "sample", "case_id"),
}
"""Columns that are unique in most rows of a large table. `lake.repeated_<table>` has the others, by the hash of
these columns, `unit`."""

SUPERSEDED = "superseded_verdicts"
"""`lake.superseded_verdicts`: verdicts that another one of their evaluation replaces, which are rare."""
