"""Ends a flow with a plain message instead of a traceback on user errors."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from prefect import get_run_logger
from prefect.states import Failed

from biasgrid.catalogs.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[P, Coroutine[Any, Any, R]]


def in_words(work: Work[P, R]) -> Work[P, R]:
    """Turns a `UserError` into a log line and a failed state; Python callers still receive the exception."""

    @wraps(work)
    async def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await work(*args, **kwargs)
        except UserError as mistake:
            get_run_logger().error("%s", mistake)
            return cast(R, Failed(message=str(mistake), data=mistake))

    # Prefect would look for the names of its types in this module
    told.__signature__ = signature(work, eval_str=True)  # type: ignore[attr-defined]
    return told
