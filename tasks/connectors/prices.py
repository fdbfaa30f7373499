"""What replies cost."""

from __future__ import annotations

from biasgrid.catalogs.schema.models import Prices
from biasgrid.tasks.connectors.api import Reply


def cost_usd(reply: Reply, prices: Prices | None) -> float | None:
    """What a reply cost at list price; None where the price or the tokens are unknown."""
    if (
        prices is None
        or (prices.input and reply.input_tokens is None)
        or (prices.output and reply.output_tokens is None)
    ):
        return None
    return list_price(prices, reply.input_tokens or 0, reply.output_tokens or 0)


def list_price(prices: Prices, sent: float, received: float, requests: float = 1) -> float:
    """US dollars for so many tokens, whose prices are per million, in so many requests."""
    return (sent * prices.input + received * prices.output) / 1e6 + requests * prices.request


def dollars(usd: float) -> str:
    """In cents, or as finely as an amount needs: `$5.00`, `$0.0026`."""
    cents = f"{usd:,.2f}"
    fine = f"{usd:,.{4 if usd >= 0.01 else 6}f}".rstrip("0")
    return f"${cents}" if len(fine) <= len(cents) else f"${fine}"
