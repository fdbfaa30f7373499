"""From any id to requirement, template, prompt, response, verdict and finding."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["run", "requirement", "cell", "template", "instance", "case", "request", "response", "verdict"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of ids."""
