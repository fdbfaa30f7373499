"""Store of files, batches and fine-tuning jobs: in memory, or in a directory that outlives the server."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError

Document = dict[str, Any]
"""A file, batch or job as the API shows it; names that begin with `_` are internal."""


KINDS = {"files": "created_at", "batches": "_began", "tunings": "_began"}
"""The documents by kind, with the field that orders them."""


class JobStore:
    def __init__(self, directory: Path | None = None) -> None:
        """Loads the content of the directory. Raises UserError if it cannot be used."""
        self._directory = directory
        self._documents: dict[str, dict[str, Document]] = {kind: {} for kind in KINDS}
        self._contents: dict[str, bytes] = {}
        if directory is not None:
            self._load(directory)

    def newest_first(self, kind: str) -> list[Document]:
        return list(reversed(self._documents[kind].values()))

    def find(self, kind: str, document_id: str) -> Document | None:
        return self._documents[kind].get(document_id)

    def save(self, kind: str, document: Document) -> None:
        self._documents[kind][document["id"]] = document
        if self._directory is not None:
            _write_whole(self._directory / kind / f"{document['id']}.json", json.dumps(document).encode())

    def add_file(self, content: bytes, filename: str, purpose: str) -> Document:
        file: Document = {
            "id": f"file-{uuid.uuid4().hex[:24]}",
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": filename,
            "purpose": purpose,
            "status": "processed",
            "expires_at": None,
        }
        if self._directory is None:
            self._contents[file["id"]] = content
        else:
            _write_whole(self._directory / "contents" / file["id"], content)
        self.save("files", file)
        return file

    def content(self, file_id: str) -> bytes:
        """The content of a file. Raises KeyError if it does not exist (any more)."""
        file = self._documents["files"][file_id]
        if self._directory is None:
            return self._contents[file_id]
        return (self._directory / "contents" / str(file["id"])).read_bytes()

    def remove_file(self, file_id: str) -> None:
        """Deletes a file. Raises KeyError if there is none."""
        del self._documents["files"][file_id]
        self._contents.pop(file_id, None)
        if self._directory is not None:
            (self._directory / "files" / f"{file_id}.json").unlink(missing_ok=True)
            (self._directory / "contents" / file_id).unlink(missing_ok=True)

    def _load(self, directory: Path) -> None:
        try:
            for kind in (*KINDS, "contents"):
                (directory / kind).mkdir(parents=True, exist_ok=True)
            self._documents = {kind: _load_documents(directory / kind, order) for kind, order in KINDS.items()}
        except (OSError, ValueError, KeyError) as error:
            what = f"the state in `{directory}` cannot be used: {type(error).__name__}"
            raise UserError(Problem(what, "--state", "name a directory of its own that can be written")) from error


def public_fields(document: Document) -> Document:
    return {name: value for name, value in document.items() if not name.startswith("_")}


def _load_documents(directory: Path, order: str) -> dict[str, Document]:
    documents = [json.loads(path.read_bytes()) for path in directory.glob("*.json")]
    return {document["id"]: document for document in sorted(documents, key=lambda one: (one[order], one["id"]))}


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a file atomically, as the server may be killed at any moment."""
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_bytes(content)
    unfinished.replace(path)
