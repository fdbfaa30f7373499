"""The outcome of a red team: an attack that could not be judged does not count as withstood. A rehearsal against
every way in which a target may reply.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from biasgrid.flows.redteam.outcome import COUNTED, AttackOutcome
from biasgrid.flows.redteam.request_estimate import WORD, Lengths, longest, requests, shortest
from biasgrid.flows.redteam.sections import sections
from biasgrid.flows.runs.outcome import INCOMPLETE, MET, NOT_MET, UNDECIDED
from biasgrid.flows.terminal.tables import show_sections
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.session import Ask, Exchange, Judgement, Move, Say, Strategy
from biasgrid.tasks.redteam.strategies import STRATEGIES


def outcome_of(
    rates: list[dict[str, Any]], *, incomplete: bool, unwritten: Sequence[tuple[str, int]] = ()
) -> AttackOutcome:
    ended = {"run_id": "01RUN", "incomplete": incomplete, "failures": [], "places": {}}
    return AttackOutcome(rates=rates, successes=[], unwritten=[*unwritten], **ended)


def outcome(*rates: float | None, incomplete: bool = False) -> AttackOutcome:
    return outcome_by(*((STATES[rate], None) for rate in rates), incomplete=incomplete)


STATES = {None: "not evaluated", 0.0: "undecided", 1.0: "not met"}
"""By success rate, where no bound is stated."""


def outcome_by(*rows: tuple[str, float | None], incomplete: bool = False) -> AttackOutcome:
    """Of strategies by state and bound."""
    rates = [{"state": state, "bound": bound} for state, bound in rows]
    return outcome_of(rates, incomplete=incomplete)


@pytest.mark.parametrize(
    ("rates", "code"), [((0.0, 0.0), MET), ((0.0, 1.0), NOT_MET), ((0.0, None), NOT_MET), ((None,), NOT_MET)]
)
def test_a_strategy_without_a_rate_is_not_withstood(rates, code):
    assert outcome(*rates).exit_code == code


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["met", "met"], MET),
        (["met", "undecided"], UNDECIDED),
        (["undecided", "not met"], NOT_MET),
        (["undecided", "not evaluated"], NOT_MET),
    ],
)
def test_a_stated_bound_is_met_only_where_it_is_proven(states, code):
    assert outcome_by(*((state, 0.1) for state in states)).exit_code == code


def test_an_incomplete_outcome_starts_with_that():
    assert outcome(1.0, None, incomplete=True).exit_code == INCOMPLETE


def print_outcome(found: AttackOutcome, capsys: pytest.CaptureFixture[str]) -> str:
    show_sections(sections(found))
    return " ".join(capsys.readouterr().out.split())


def test_what_another_attempt_would_not_mend_is_not_to_be_resumed(capsys):
    found = outcome_of([], incomplete=True, unwritten=[("too_far", 2)])
    assert "2 × attacker failed: too_far" in print_outcome(found, capsys)
    assert "resume" not in print_outcome(found, capsys)


def test_what_a_cap_left_open_is_resumed_with_a_higher_one(capsys):
    rates = dict.fromkeys(COUNTED, 0) | {"open": 3, "model": "m", "language": "en_us", "strategy": "direct"}
    rates |= {"sessions": 3, "success_rate": None, "low": None, "high": None, "mean_succeeded_at": None}
    rates |= {"bound": None, "state": "not evaluated"}
    out = print_outcome(outcome_of([rates], incomplete=True), capsys)
    assert "left open: 3" in out
    assert "--max-requests" in out
    assert "biasgrid resume 01RUN" in out


Scenes = Callable[..., Scene]
SMALL = {"turns": 3, "backtracks": 2, "attempts": 2, "attacker_retries": 1, "judge_retries": 1}
LENGTHS = Lengths(5, 7)


def every_way(strategy: Strategy, scene: Scene) -> Iterator[list[Move]]:
    for verdicts in product(("biased", "unbiased", "refused"), repeat=6):
        moves, made, verdict_of_turn = strategy(scene), list[Move](), iter(verdicts)
        result: str | Exchange | None = None
        while True:
            try:
                made.append(moves.send(result))
            except StopIteration:
                break
            move = made[-1]
            if isinstance(move, Ask):
                result = "a message"
                continue
            verdict: Any = "unbiased" if move.judged == "later" else next(verdict_of_turn)
            if verdict == "biased":
                break
            result = Exchange(move.message, "reply", Judgement(verdict, "so"))
        yield made


def counts(moves: list[Move]) -> tuple[int, int, int]:
    sends = [move for move in moves if isinstance(move, Say)]
    return len(moves) - len(sends), len(sends), sum(move.judged != "later" for move in sends)


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("name", STRATEGIES)
def test_no_conversation_is_longer_or_shorter(scene, name, remembers):
    own = scene(limits=SMALL, remembers=remembers)
    found = {counts(moves) for moves in every_way(STRATEGIES[name], own)}
    least, most = (counts(of(STRATEGIES[name], own, LENGTHS)) for of in (shortest, longest))
    assert least == tuple(min(column) for column in zip(*found, strict=True))
    assert most == tuple(max(column) for column in zip(*found, strict=True))


def test_a_target_that_forgets_is_sent_all_but_what_was_taken_back(scene):
    own = scene(limits=SMALL)
    moves = longest(STRATEGIES["crescendo"], own, LENGTHS)
    targets = [sent for sent in requests(own, moves, LENGTHS, "Be kind.") if sent.speaker == "target"]
    assert [len(sent.messages) for sent in targets] == [2, 4, 6, 6, 6]
    assert [message.content for message in targets[1].messages] == ["Be kind.", WORD * 5, WORD * 7, WORD * 5]
    remembering = scene(limits=SMALL, remembers=True)
    targets = [sent for sent in requests(remembering, moves, LENGTHS) if sent.speaker == "target"]
    assert {len(sent.messages) for sent in targets} == {1}


def test_attacker_and_judge_may_be_asked_again(scene):
    own = scene(limits={**SMALL, "attacker_retries": 4})
    sent = list(requests(own, longest(STRATEGIES["persona"], own, LENGTHS), LENGTHS))
    assert [(one.speaker, one.repeats) for one in sent] == [("attacker", 4), ("target", 0), ("judge", 1)] * 3
