"""What goes wrong with a request: as deterministic as the answer itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import ConnectorError, Disconnected, RateLimited, ServerFault, TimedOut
from biasgrid.tasks.connectors.simulated.chance import uniform

Fault = Literal[
    "rate_limited",
    "server_fault",
    "timed_out",
    "disconnected",
    "slow_body",
    "truncated_body",
    "empty_body",
    "wrong_content_type",
]
FAULTS: tuple[Fault, ...] = (
    "rate_limited",
    "server_fault",
    "timed_out",
    "disconnected",
    "slow_body",
    "truncated_body",
    "empty_body",
    "wrong_content_type",
)
OddReply = Literal["content_filter", "huge_reply"]
ODD_REPLIES: tuple[OddReply, ...] = ("content_filter", "huge_reply")


def fault(respondent: Respondent, message_text: str, seed: int | None, attempt: int) -> Fault | None:
    """What goes wrong with this attempt, counted from 1; None where it is answered, as it always is after
    `faults.most` attempts."""
    if attempt > respondent.faults.most:
        return None
    drawn = uniform(respondent.id, respondent.seed, message_text, seed, "fault", attempt)
    for name in FAULTS:
        drawn -= getattr(respondent.faults, name)
        if drawn < 0:
            return name
    return None


def odd_reply(respondent: Respondent, message_text: str, seed: int | None) -> OddReply | None:
    """In what way the reply to a question is odd, whenever it is given; None where it is not."""
    drawn = uniform(respondent.id, respondent.seed, message_text, seed, "odd reply")
    for name in ODD_REPLIES:
        drawn -= getattr(respondent.faults, name)
        if drawn < 0:
            return name
    return None


def as_error(respondent: Respondent, name: Fault) -> ConnectorError:
    """The fault as a connector reports it."""
    kind, what = AS_ERROR[name]
    message = f"simulated/{respondent.id} {what} (simulated)"
    return RateLimited(message, respondent.faults.retry_after_s) if kind is RateLimited else kind(message)


AS_ERROR: Mapping[Fault, tuple[type[ConnectorError], str]] = {
    "rate_limited": (RateLimited, "has too many requests"),
    "server_fault": (ServerFault, "failed"),
    "timed_out": (TimedOut, "did not answer in time"),
    "disconnected": (Disconnected, "dropped the connection"),
    "slow_body": (TimedOut, "did not answer in full in time"),
    "truncated_body": (ServerFault, "broke off its reply"),
    "empty_body": (ServerFault, "answered with nothing"),
    "wrong_content_type": (ServerFault, "answered with a page of HTML"),
}
