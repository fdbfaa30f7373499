"""Replicate: creates a prediction, waits for it and polls it after the longest wait."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
from replicate.client import Client
from replicate.exceptions import ReplicateException

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Reply, Request, Transient, withheld_reply
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.retry import requested_wait_s, retry_transient
from biasgrid.tasks.connectors.client.transport import SdkConnector, receive
from biasgrid.tasks.connectors.json_objects import Body, parse_body
from biasgrid.tasks.connectors.providers.chat import NO_KEY, as_prompt, base_address, sampling_parameters
from biasgrid.tasks.connectors.side_fields import CHAT, build_reply, read_object

OWN = "https://api.replicate.com"
REFERENCE = re.compile(r"(?P<owner>[^/:\s]+)/(?P<name>[^/:\s]+)(?::(?P<version>[^/:\s]+))?")
ID = re.compile(r"[\w-]{1,200}")
LONGEST_WAIT_S = 60  # most seconds that `Prefer: wait=` allows
FIRST_POLL_S, LONGEST_POLL_S = 0.02, 1.0
POLL_TIMEOUT_S = 10.0
POLL_PAUSES_S = (0.2, 0.4, 0.8)  # before a failed poll is repeated: giving up would pay for a second prediction
CANCEL_TIMEOUT_S = 2.0
RUNNING = ("starting", "processing")
WITHHELD = ("nsfw", "flagged", "sensitive", "content policy")
REJECTIONS = ("too long", "context length", "maximum context")
"""Words of a failed prediction's reason that make it a withheld reply, or a rejected request."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of Replicate. Raises UserError if the name is not `owner/name` or `owner/name:version`."""
    if not REFERENCE.fullmatch(target.name):
        raise UserError(
            Problem(
                f"`{target.name}` names no model at Replicate",
                f"model `{target.model}`",
                "write `replicate/owner/name` or `replicate/owner/name:version`",
            )
        )
    return Replicate(target, key)


class Replicate(SdkConnector):
    unforeseen = (ReplicateException, httpx.HTTPError, ValueError)

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key, httpx)
        self._client = Client(
            api_token=key or NO_KEY,
            base_url=base_address(target, OWN),
            transport=self._wire,
            timeout=httpx.Timeout(None),
        )
        self._owner_and_name, _, self._version = target.name.partition(":")
        self._poll_s = min(POLL_TIMEOUT_S, target.limits.timeout_s)
        self._wait_s = max(1, min(LONGEST_WAIT_S, int(target.limits.timeout_s)))

    async def _send(self, request: Request) -> Reply:
        return read_prediction(await self._settle(await self._create(self._inputs(request))), self._faults)

    def _inputs(self, request: Request) -> dict[str, Any]:
        """The inputs of a prediction, with both names of the token limit, as unknown inputs are ignored."""
        parameters = sampling_parameters(request, self._accepted)
        if "max_tokens" in parameters:
            parameters["max_new_tokens"] = parameters["max_tokens"]
        return {"prompt": as_prompt(request.messages), **parameters}

    async def _create(self, inputs: dict[str, Any]) -> Body:
        shared: dict[str, Any] = {"input": inputs, "wait": self._wait_s}
        if self._version:
            return await receive(self._client.predictions.async_create(version=self._version, **shared))
        return await receive(self._client.models.predictions.async_create(model=self._owner_and_name, **shared))

    async def _settle(self, prediction: Body) -> Body:
        """The prediction after it has ended, as the output of `processing` may be incomplete."""
        if prediction.document.get("status") not in RUNNING:
            return prediction
        prediction_id, pause = self._id(prediction), FIRST_POLL_S
        try:
            while prediction.document.get("status") in RUNNING:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_POLL_S)
                prediction = await retry_transient(partial(self._poll, prediction_id), self._poll_wait_s)
            return prediction
        finally:
            if prediction.document.get("status") in RUNNING:
                await self._cancel(prediction_id)

    def _id(self, prediction: Body) -> str:
        found = prediction.document.get("id")
        if isinstance(found, str) and ID.fullmatch(found):
            return found
        raise self._faults.server("the prediction is not finished, and has no id under which to ask for it")

    def _poll_wait_s(self, error: Transient, attempts: int) -> float | None:
        """Seconds until a failed poll is repeated, as its failure does not concern the prediction."""
        asked_s = requested_wait_s(error)
        if asked_s > self._poll_s or attempts > len(POLL_PAUSES_S):
            return None
        return max(POLL_PAUSES_S[attempts - 1], asked_s)

    async def _poll(self, prediction_id: str) -> Body:
        try:
            async with asyncio.timeout(self._poll_s):
                return await receive(self._client.predictions.async_get(prediction_id))
        except TimeoutError:
            pass
        raise self._faults.timed_out(self._poll_s)

    async def _cancel(self, prediction_id: str) -> None:
        """Cancels a prediction if possible, as it is charged by the second."""
        with suppress(TimeoutError, ConnectorError, *self.unforeseen):
            async with asyncio.timeout(CANCEL_TIMEOUT_S):
                await receive(self._client.predictions.async_cancel(prediction_id))


def read_body(target: Target, raw: bytes) -> Reply:
    """The reply in a stored prediction. Raises ConnectorError, and ValueError if it is no JSON object."""
    document = parse_body(raw)
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - of what a server sent, not of an argument
    return read_prediction(Body(document, raw), ErrorMapper(target))


def read_prediction(prediction: Body, faults: ErrorMapper) -> Reply:
    """The output of a prediction. Raises the error with which it ended, ReplyMisplaced for another shape."""
    status, reason = prediction.document.get("status"), prediction.document.get("error")
    if not isinstance(status, str):
        reported = faults.find_error(prediction.document)
        raise reported or faults.misplace("the reply is no prediction with a status", prediction.raw)
    if status != "succeeded":
        return _end_without_output(status, str(reason or "no reason given"), faults)
    metrics = prediction.document.get("metrics")
    counts = (read_object(metrics).get(name) for name in ("input_token_count", "output_token_count"))
    usage = dict(zip(CHAT, counts, strict=True)) if isinstance(metrics, dict) else metrics
    return build_reply(
        _read_output(prediction, faults),
        usage=usage,
        model_reported=prediction.document.get("model"),
        clean=faults.without_keys,
        host=faults.host,
    )


def _read_output(prediction: Body, faults: ErrorMapper) -> str:
    output = prediction.document.get("output")
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(isinstance(piece, str) for piece in output):
        return "".join(output)
    raise faults.misplace("the prediction's output is no text", prediction.raw)


def _end_without_output(status: str, reason: str, faults: ErrorMapper) -> Reply:
    words = reason.lower()
    if any(word in words for word in WITHHELD):
        return withheld_reply()
    if any(word in words for word in REJECTIONS):
        raise faults.reject(f"the request was rejected: {reason}")
    raise faults.server(f"the prediction ended as {status}: {reason}")
