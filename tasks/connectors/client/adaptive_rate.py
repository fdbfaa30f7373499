"""Adaptive rate for providers that state no limit, estimated from refused requests."""

from __future__ import annotations

import math
from collections import deque
from typing import Literal

Stage = Literal["free", "trial", "paced"]

EPOCH_S, EPOCH_OUTCOMES = 5.0, 20
TRIAL_OUTCOMES = 50
"""Outcomes needed to distinguish 20% random refusals from none."""
RECENT, MOST_REFUSED, RUN_REFUSED, RUN_SENT_AWAY = 40, 34, 20, 12
"""Refusals among the last, or in a row, after which the limit is used up and all requests pause."""
# 40% random refusals do not reach these counts within an hour; RUN_SENT_AWAY counts waits longer than an epoch.
NEARLY_ALL = 0.8
"""Share of refusals in an epoch with the same effect."""
ALIKE = 0.75
SPORADIC = 0.05
"""Share of refusals that is ignored, as are two refusals in an epoch."""
BELOW = 0.93
"""Share of an estimated limit that is used, as the estimate has an error of a few percent."""
PEEK, DOUBLING = 1.15, 1.5
WELL_MEASURED, WELL_MEASURED_S = 50, 20.0
"""Requests accepted, or seconds, between two pauses that give the limit to a few percent."""
BINDING = 0.7
"""Below this used share of the rate, something else is the bottleneck."""
SLOWEST = 0.1
SHORTEST_HOLD_S = 1.0
PATIENCE_S, LONGEST_PATIENCE_S = 300.0, 1800.0
GROWTH = 1.03
RISEN = 1.25
"""Growth beyond the proven rate after which the limit has risen and is measured again."""
MOST_DOUBLED, LONGEST_HOLD_S = 5, 60.0
MINUTE_S = 60.0


class AdaptiveRate:
    """Estimates the accepted requests per second from refusals; one per limit, on the event loop's clock."""

    # Some servers refuse at random, so a suspected limit is tested: slightly below the accepted rate, refusals end
    # if a limit caused them; if they continue, that share is tolerated. If nearly all requests are refused, all
    # pause as long as the provider asks, and the limit follows from what it accepts between two pauses. A rate
    # that has held for minutes grows slowly, to find a limit that has risen.

    def __init__(self) -> None:
        self.per_second: float | None = None
        """Requests per second; None: no limit but the free slots."""
        self.held_until = 0.0
        """Time before which no request is sent."""
        self._stage: Stage = "free"
        self._signs = 0
        self._share = 0.0
        self._put_up_with, self._put_up_until = 0.0, 0.0
        self._base: float | None = None
        self._last_met, self._patience_s = 0.0, PATIENCE_S
        self._held_from: float | None = None
        self._taken = 0
        self._measuring = False
        self._blank = 0
        self._asked_s = 0.0
        self._before: tuple[Stage, float | None] = "free", None
        self._minute: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._total = 0
        self._since = 0.0
        self._began: float | None = None
        self._accepted = self._refused = self._run = 0
        self._recent: deque[bool] = deque(maxlen=RECENT)

    def accept(self, sent_at: float, now: float) -> bool:
        """Records a request that was not refused; returns whether the rate has changed."""
        self._taken += 1
        self._total += 1
        if sent_at < self._since:
            return self._measure() if self._measuring and now < self.held_until else False
        if self._measuring:
            self._measuring, self._taken = False, 1
        self._run = 0
        self._recent.append(False)
        return self._count(sent_at, now, refused=False)

    def refuse(self, sent_at: float, asked_s: float, now: float) -> bool:
        """Records a request refused for `asked_s` seconds; returns whether the rate has changed."""
        if sent_at < self._since:
            return False
        if self._measuring:
            self._measuring, self._taken = False, 0
        self._run += 1
        self._recent.append(True)
        self._asked_s = asked_s
        run = RUN_SENT_AWAY if asked_s >= EPOCH_S else RUN_REFUSED
        if self._run >= run or sum(self._recent) >= MOST_REFUSED:
            return self._hold(asked_s, now)
        return self._count(sent_at, now, refused=True)

    def _count(self, sent_at: float, now: float, *, refused: bool) -> bool:
        if self._held_from is None:
            self._held_from = now
        if self._began is None:  # the first reply only starts the clock of the epoch
            self._began = now
            return False
        if refused:
            self._refused += 1
        else:
            self._accepted += 1
        if now - self._began < max(EPOCH_S, 2 * (now - sent_at)):
            return False
        outcomes = self._accepted + self._refused
        sought = self._stage == "trial" or (self._stage == "free" and self.per_second is not None)
        if outcomes < (TRIAL_OUTCOMES if sought else EPOCH_OUTCOMES):
            return False
        return self._close(self._accepted / (now - self._began), self._refused / outcomes, now)

    def _close(self, rate: float, share: float, now: float) -> bool:
        """Evaluates an epoch at its end."""
        before = self.per_second, self.held_until
        self._remember(now)
        if share >= NEARLY_ALL:
            return self._hold(self._asked_s, now)
        if self._stage == "trial":
            self._judge(rate, share, now)
        elif self._is_clean(share, now):
            self._signs = 0
            self._raise_rate(rate, now)
        else:
            self._suspect(rate, share, now)
        changed = (self.per_second, self.held_until) != before
        if changed:
            self._restart(max(now, self.held_until))
        else:
            self._restart(self._since, now)
        return changed

    def _is_clean(self, share: float, now: float) -> bool:
        if self._base is not None:  # a trial exceeds the limit on purpose
            return self._refused == 0
        usual = self._put_up_with if now < self._put_up_until else 0.0
        noise = 3 * math.sqrt(usual * (1 - usual) / (self._accepted + self._refused))
        return self._refused < 3 or share <= usual + noise + SPORADIC

    def _suspect(self, rate: float, share: float, now: float) -> None:
        """Starts a trial below this epoch's rate; without a rate, the first such epoch includes a burst."""
        self._signs += 1
        if self._base is not None:
            self._step_back(now)
        elif self._signs > 1 or self.per_second is not None:
            self._before = self._stage, self.per_second
            self._stage, self._share = "trial", share
            self.per_second = max(SLOWEST, BELOW * rate)

    def _judge(self, rate: float, share: float, now: float) -> None:
        if share < self._share / 2:
            self._stage, self._last_met = "paced", now
        elif share < ALIKE * self._share:  # many still: the measured epoch saw the limit fall
            self._share, self.per_second = share, max(SLOWEST, BELOW * rate)
        else:
            self._stage, self.per_second = self._before
            self._put_up_with, self._put_up_until = max(share, self._share), now + PATIENCE_S

    def _raise_rate(self, rate: float, now: float) -> None:
        """Raises a binding rate after a clean epoch: a rough one soon, a proven one after minutes."""
        if self.per_second is None:
            return
        if self._stage == "free":
            self._grow(rate, DOUBLING)
        elif now - self._last_met >= self._patience_s:
            self._base = self._base or self.per_second
            self._grow(rate, GROWTH)

    def _grow(self, rate: float, factor: float) -> None:
        pace = self.per_second or rate
        if rate >= BINDING * pace:
            self.per_second = factor * pace
        elif self._base is None or pace > 2 * self._base:
            self.per_second, self._stage, self._base = None, "free", None

    def _step_back(self, now: float) -> None:
        """Returns to the proven rate or, after large growth, to the rate accepted in the last minute."""
        base, self._base = self._base or SLOWEST, None
        self._last_met = self.held_until = now + self._asked_s
        self._taken = 0
        if (self.per_second or 0.0) >= RISEN * base:
            self.per_second, self._patience_s = BELOW * self._rate_of_minute(now), PATIENCE_S
        else:
            self.per_second, self._patience_s = base, min(LONGEST_PATIENCE_S, 2 * self._patience_s)

    def _hold(self, asked_s: float, now: float) -> bool:
        began = self.held_until if self.held_until > 0 else self._held_from
        if self._base is not None:
            self._step_back(now)
        else:
            self._blank = 0 if self._taken else min(MOST_DOUBLED, self._blank + 1)
            longer_s = max(SHORTEST_HOLD_S, asked_s) * 2.0**self._blank
            self.held_until = now + max(asked_s, min(longer_s, LONGEST_HOLD_S))
            self._held_from = began if began is not None else now
            self._measuring = True
            self._measure()
        self._restart(self.held_until)
        return True

    def _measure(self) -> bool:
        """Sets the rate to the requests accepted between two pauses; not after an outage, which accepts none."""
        if self._held_from is None or not self._taken:
            return False
        spell_s = self.held_until - self._held_from
        rate = max(SLOWEST, self._taken / spell_s)
        if self._taken >= WELL_MEASURED or spell_s >= WELL_MEASURED_S:
            self._stage, self._last_met = "paced", self.held_until
            self.per_second = BELOW * rate
        else:
            self._stage = "free"
            self.per_second = PEEK * (self._taken + 2) / spell_s  # small counts may be two too low
        return True

    def _remember(self, now: float) -> None:
        self._minute.append((now, self._total))
        while len(self._minute) > 2 and self._minute[1][0] <= now - MINUTE_S:
            self._minute.popleft()

    def _rate_of_minute(self, now: float) -> float:
        began, total = self._minute[0]
        return (self._total - total) / (now - began)

    def _restart(self, since: float, began: float | None = None) -> None:
        """Starts an epoch with requests sent from `since`; its time runs from the first reply."""
        self._since, self._began = since, began
        self._accepted = self._refused = 0
        if began is None:
            self._run = 0
            self._recent.clear()
