"""Azure's emulator on loopback, from the npm registry."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import filelock
import pytest

from support.processes import free_port, wait_until

EMULATOR = "azurite@3.37.0"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The published key of every emulator."""
FLAGS = ("--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry")
CLOCK = """
const fs = require("fs"), Real = Date;
const now = () => Real.now() + Number(fs.readFileSync(process.env.CLOCK, "utf8")) * 1000;
global.Date = class extends Real {
  constructor(...given) { given.length ? super(...given) : super(now()); }
  static now() { return now(); }
};
"""
"""Sets the emulator's clock forward by the seconds in a file."""


class AzureServer:
    """Azure's emulator with an account and the container `lakes`."""

    address = "az://lakes/team"

    def __init__(self, program: Path, folder: Path) -> None:
        self._clock, self._port, self._advance = folder / "seconds", free_port(), 0.0
        self._clock.write_text("0")
        (folder / "clock.js").write_text(CLOCK)
        node = ["node", "--require", folder / "clock.js", program, "--blobHost", "127.0.0.1"]
        self.process = subprocess.Popen(
            [*node, "--blobPort", str(self._port), *FLAGS],
            env={"CLOCK": str(self._clock)},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)
        self._create_container()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/{ACCOUNT}"

    def environment(self, cache: Path) -> dict[str, str]:
        """Of a machine with mirrors in `cache`."""
        keys = {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
        return {**keys, "AZURE_STORAGE_ENDPOINT": self.url, "BIASGRID_CACHE": str(cache)}

    def names(self, folder: str = "") -> list[str]:
        """The objects of the container below `folder`."""
        found = self._store.list().collect()
        return sorted(entry["path"] for entry in found if entry["path"].startswith(folder))

    def age(self, _folder: str, seconds: float) -> None:
        """Sets the server's clock forward, so that all objects are so much older."""
        self._advance += seconds
        self._clock.write_text(str(self._advance))

    def empty(self) -> None:
        if names := self.names():
            self._store.delete(names)

    @property
    def _store(self) -> Any:
        from obstore.store import AzureStore

        named = {"account_name": ACCOUNT, "account_key": KEY, "endpoint": self.url}
        return AzureStore("lakes", config=named, client_options={"allow_http": True})

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False

    def _create_container(self) -> None:
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
        named = "\n".join(f"{name}:{value}" for name, value in headers.items())
        text = "PUT" + "\n" * 12 + f"{named}\n/{ACCOUNT}/{ACCOUNT}/lakes\nrestype:container"
        mac = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{mac}", "Content-Length": "0"}
        request = urllib.request.Request(f"{self.url}/lakes?restype=container", headers=headers, method="PUT")
        urllib.request.urlopen(request).close()


def _installed() -> Path:
    """The emulator's program, installed once per machine. Skips the test if there is no npm or no registry."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("there is no npm on this machine to install Azure's emulator")
    folder = Path(tempfile.gettempdir()) / f"biasgrid-{EMULATOR}"
    program = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with filelock.FileLock(f"{folder}.lock"):
        if not (folder / "complete").exists():
            install = [
                "npm",
                "install",
                "--prefix",
                folder,
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                EMULATOR,
            ]
            done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                pytest.skip(f"npm cannot install Azure's emulator: {done.stderr.strip().splitlines()[-1:]}")
            (folder / "complete").touch()
    return program


@pytest.fixture(scope="session")
def _azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureServer]:
    server = AzureServer(_installed(), tmp_path_factory.mktemp("azure"))
    yield server
    server.process.kill()
    server.process.wait()
