"""A rehearsal against every way in which a target may reply."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from biasgrid.flows.redteam.request_estimate import WORD, Lengths, longest, requests, shortest
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.session import Ask, Exchange, Judgement, Move, Say, Strategy
from biasgrid.tasks.redteam.strategies import STRATEGIES

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
