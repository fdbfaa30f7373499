"""What APIs of jobs at providers share: each call sends one request once and raises the errors of api.py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import Received
from biasgrid.tasks.connectors.side_fields import read_count, read_label
from biasgrid.warehouse.storage.errors import storing

Document = Mapping[str, Any]
SKEW = timedelta(hours=6)
"""Largest assumed difference between the provider's clock and ours."""
PAGE = 100
MOST_PAGES = 1000


class JobApi:
    """Calls shared by batches and fine-tuning jobs. Raises `ConnectorError` and errors of local files."""

    unforeseen: tuple[type[Exception], ...]
    """What the SDK raises besides our own errors."""
    cursor = "after"
    """Parameter of a listing: the last id of the page before."""
    _client: Any
    """The SDK's."""

    def __init__(self, faults: ErrorMapper) -> None:
        self._faults = faults

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, call: Callable[[], Awaitable[object]]) -> Document:
        """The document with which the provider answers, empty for a file."""
        fault: ConnectorError
        try:
            await call()
        except Received as received:
            return received.body.document
        except self.unforeseen as error:
            cause = error.__cause__  # some SDKs wrap what their transport raises
            if isinstance(cause, Received):
                return cause.body.document
            fault = cause if isinstance(cause, ConnectorError) else self._faults.unforeseen(error)
        else:
            return {}
        raise fault

    async def _find(
        self, listing: Callable[..., Awaitable[object]], is_ours: Callable[[Document], bool], since: datetime
    ) -> Document | None:
        """The newest of the provider's jobs for which `is_ours` returns True, or None."""
        async for job in self._list(listing, since):
            if is_ours(job):
                return job
        return None

    async def _list(self, listing: Callable[..., Awaitable[object]], since: datetime) -> AsyncIterator[Document]:
        """The provider's jobs, newest first, as far back as `since`."""
        oldest, after = (since - SKEW).timestamp(), dict[str, str]()
        for _ in range(MOST_PAGES):
            page = await self._page(partial(listing, limit=PAGE, **after))
            for job in page:
                yield job
            created = self._created_at(page[-1]) if page else None
            if len(page) < PAGE or (created is not None and created < oldest):
                return
            after = {self.cursor: self._id(page[-1])}
        raise self._faults.server(f"lists more than {MOST_PAGES * PAGE:,} jobs")

    async def _page(self, listing: Callable[[], Awaitable[object]]) -> list[Document]:
        entries = (await self._call(listing)).get("data")
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    def _created_at(self, job: Document) -> float | None:
        """When a job was created, in seconds since 1970."""
        return read_count(job.get("created_at"))

    def _id(self, document: Document) -> str:
        found = document.get("id")
        if not isinstance(found, str) or not found or read_label(found) != found:
            raise self._faults.server("the provider gave no id")
        return found


async def write_pieces(pieces: AsyncIterator[bytes], path: Path, most: int, too_long: ConnectorError) -> None:
    """Writes a provider's file. Raises `too_long` for more than `most` bytes, StorageTrouble for a full disk."""
    # the provider's own errors were raised before `storing`, which would report them as those of a disk
    with storing(path), path.open("wb") as file:
        async for piece in pieces:
            most -= len(piece)
            if most < 0:
                raise too_long
            file.write(piece)
