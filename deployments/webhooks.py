"""Reads the webhook address for notifications from an environment variable."""

from __future__ import annotations

import os

from biasgrid.catalogs.errors import Problem, UserError


def webhook_address(variable: str) -> str:
    """The address in an environment variable. Raises UserError, whose message shows no part of the value."""
    address = os.environ.get(variable, "")
    if not address.startswith(("http://", "https://")):
        what = f"the environment variable `{variable}` holds no address of a webhook"
        remedy = "name the variable, not the address: it begins with https://"
        raise UserError(Problem(what, "--webhook-from", remedy))
    return address
