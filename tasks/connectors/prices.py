"""What replies cost."""

from __future__ import annotations

from catalogs.models import Prices
from tasks.connectors.base import Reply


def cost_usd(reply: Reply, prices: Prices | None) -> float | None:
    """What a reply cost at list price; None where the price or the tokens are unknown."""
    if (
        prices is None
        or (prices.input and reply.input_tokens is None)
        or (prices.output and reply.output_tokens is None)
    ):
        return None
    return ((reply.input_tokens or 0) * prices.input + (reply.output_tokens or 0) * prices.output) / 1e6
