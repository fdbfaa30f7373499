"""Prefect's temporary server, started before Prefect itself is imported: both take seconds, and now the same ones.

It is Prefect's own, with Prefect's own command. Prefect is given its address: to start one itself, it would import
the server into this process, which takes a second and 100 MB.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.operations.interruption import SIGNALS, interruption

MARKS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
ELSEWHERE = ("API_URL", "PROFILE", "EPHEMERAL")
"""In the name of a variable `PREFECT_…`: it may ask for another server, or for none."""
SETTINGS = (("prefect.toml", ""), ("pyproject.toml", "tool.prefect"), (".env", "PREFECT_"))
"""Files of the working directory in which Prefect reads settings, and what they then hold."""
PATIENCE_S = 5.0
POLL_S = 0.1


class TemporaryServer:
    """A server process, which ends with this one at the latest."""

    current: ClassVar[TemporaryServer | None] = None
    """The one that this process uses."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.port = _free_port()
        self.process = ServerProcess(self.port, settings)
        atexit.register(self.process.close)

    @property
    def api(self) -> str:
        """Address of its API."""
        return f"http://127.0.0.1:{self.port}/api"

    def wait(self, patience_s: float) -> None:
        """Waits until it answers. Raises RuntimeError if it ends before, or takes longer."""
        deadline = time.monotonic() + patience_s
        while not self._is_healthy():
            if (code := self.process.poll()) is not None:
                raise RuntimeError(
                    f"its temporary server ended with code {code} {self.process.last_words}".strip()
                )
            if time.monotonic() > deadline:
                raise RuntimeError(f"its temporary server did not start within {patience_s:.0f} s")
            time.sleep(POLL_S)

    def _is_healthy(self) -> bool:
        # no proxy of the environment is asked for an address of this machine
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/api/health")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


early: ContextVar[TemporaryServer | None] = ContextVar("early", default=None)


@contextmanager
def start_early() -> Iterator[None]:
    """Starts a server where Prefect is sure to need one, and stops it afterwards unless it was used. Raises
    UserError if its files cannot be stored."""
    require_home()
    server = TemporaryServer() if is_needed() and TemporaryServer.current is None else None
    token = early.set(server)
    try:
        yield
    finally:
        early.reset(token)
        if server is not None and server is not TemporaryServer.current:
            server.process.close()


def use_temporary_server(settings: Mapping[str, str], patience_s: float) -> str:
    """Address of this process's temporary server, once it answers: the one started early, or one with `settings`
    in its environment. Raises RuntimeError if it does not start."""
    begun = (one for one in (TemporaryServer.current, early.get()) if one and one.process.poll() is None)
    server = TemporaryServer.current = next(begun, None) or TemporaryServer(settings)
    server.wait(patience_s)
    return server.api


def standing_server() -> str | None:
    """Address of the API of Prefect's server, None if it is a temporary one."""
    from prefect.settings import get_current_settings

    api = get_current_settings().api.url
    temporary = TemporaryServer.current
    return None if temporary is not None and api == temporary.api else api


def is_needed() -> bool:
    """Whether no variable and no file names another server; Prefect itself would take a second to load."""
    named = any(name.startswith("PREFECT_") and any(part in name for part in ELSEWHERE) for name in os.environ)
    profiles = _home() / "profiles.toml"
    return not named and not profiles.exists() and not any(_holds(*file) for file in SETTINGS)


def require_home() -> None:
    """Makes `PREFECT_HOME` where a server here needs it. Raises UserError if that is not possible, or if Prefect
    would put its database elsewhere: it takes what follows a `?` for options."""
    home = _home()
    if not is_needed():
        return
    if "?" in str(home):
        what = f"Prefect's home `{home}` holds a `?`, and its database would be elsewhere"
        raise UserError(Problem(what, "PREFECT_HOME", "name a directory without one"))
    try:
        home.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(home, os.W_OK) else os.strerror(errno.EACCES)
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        what = f"Prefect's home `{home}` cannot be written: {why}"
        raise UserError(Problem(what, "PREFECT_HOME", "name a directory that you may write to"))


def _home() -> Path:
    return Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()


def _holds(name: str, mark: str) -> bool:
    try:
        return mark in Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class ServerProcess(subprocess.Popen[bytes]):
    """A server that ends when this process does, however that ends; `settings` are variables of its environment.

    No signal of a terminal or to the process group ends it: it has to answer until its client's last request.
    """

    def __init__(self, port: int, settings: Mapping[str, str] | None = None) -> None:
        spec = find_spec("prefect")
        origin = spec.origin if spec else None
        folder = Path(origin or "").parent.parent
        arguments = ["--app-dir", str(folder), "--factory", "prefect.server.api.server:create_app"]
        address = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--lifespan", "on"]
        # -P: a folder `flows` where the command was typed is not this package
        watch = [sys.executable, "-P", "-m", "biasgrid.flows.operations.parent_watch"]
        environment = {**os.environ, **MARKS, **(settings or {})}
        listens, self._held = os.pipe()  # the system closes the other end, too, when this process ends
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when it has ended
        interruption.closes.append(self.close)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            super().__init__(
                [*watch, "uvicorn", *arguments, *address],
                stdin=listens,
                stdout=self._errors,
                stderr=self._errors,
                env=environment,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(listens)

    def terminate(self) -> None:
        """Lets it end in order: it has blocked the signal that asks for it."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def wait(self, timeout: float | None = None) -> int:
        """As of `Popen`; the file of what it wrote is then closed."""
        code = super().wait(timeout)
        self._errors.close()
        return code

    def close(self) -> None:
        """Ends it in order, and waits for that."""
        self.terminate()
        try:
            self.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()

    @property
    def last_words(self) -> str:
        """The last line that it wrote, mostly empty."""
        self._errors.seek(0)
        return next(reversed(self._errors.read().decode(errors="replace").strip().splitlines()), "")
