"""Where alarms are posted to: an address that a variable of the environment holds."""

from __future__ import annotations

import os

from biasgrid.catalogs.errors import Problem, UserError


def webhook_address(variable: str) -> str:
    """The address that an environment variable holds. Raises UserError, which shows no part of what it holds."""
    address = os.environ.get(variable, "")
    if not address.startswith(("http://", "https://")):
        what = f"the environment variable `{variable}` holds no address of a webhook"
        remedy = "name the variable, not the address: it begins with https://"
        raise UserError(Problem(what, "--webhook-from", remedy))
    return address
