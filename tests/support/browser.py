"""A headless Chromium, driven over a pipe in its own protocol: nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.tasks.report.html.site_pages import PagesOf, write_lake_pages
from biasgrid.warehouse.storage.lake import Lake
from support.processes import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
AXE = Path(__file__).parent / "axe" / "axe.min.js"
"""axe-core 4.14.1, under the Mozilla Public License 2.0 that is next to it."""
AUDIT = """
    axe.run(document, {resultTypes: ["violations"]}).then((found) => JSON.stringify(
        found.violations.map((one) => [one.impact, one.id, one.nodes.map((node) => node.target.join(" "))])))
"""
GONE = -32000
"""What the browser answers for a page that it has left in the meantime."""


class PageGone(Exception):
    pass


def program() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Browser:
    """One page. `requests` and `complaints` grow while it is looked at."""

    reading: int
    writing: int
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of the console, uncaught exceptions, what the policy has blocked."""
    _session: str | None = None
    _number: int = 0
    _left: bytes = b""

    def open(self, path: Path, address: str = "") -> None:
        """Opens a page and waits until it has been drawn: its scripts stand behind what they draw."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"{path.as_uri()}{address}")
        drawn = "document.querySelector('main') && !document.querySelector('[aria-busy=true]')"
        self.wait(f"document.readyState !== 'loading' && {drawn}")

    def visit(self, address: str, *texts: str) -> str:
        """Opens a page of a server and waits until it shows these texts; all of its text."""
        self.call("Page.navigate", url=address)
        self.wait(f"{json.dumps(texts)}.every((one) => document.body && document.body.innerText.includes(one))")
        return str(self.ask("document.body.innerText"))

    def wait(self, condition: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not self._holds(condition):
            assert time.monotonic() < until, f"never came: {condition}; {self.complaints}"
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        """False also while the page that was asked gives way to the next."""
        try:
            return bool(self.ask(f"Boolean({condition})"))
        except PageGone:
            return False

    def ask(self, expression: str) -> Any:
        """The value of an expression on the page, awaited."""
        given = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self.call("Runtime.evaluate", **given)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def size(self, width: int, height: int, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, whole: bool = False) -> None:
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            result = self._next()
            if result.get("id") == self._number:
                if result.get("error", {}).get("code") == GONE:
                    raise PageGone(result["error"]["message"])
                assert "error" not in result, result["error"]
                return dict(result["result"])
            self._notify(result.get("method", ""), result.get("params", {}))

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self.reading], [], [], PATIENCE_S)
            assert ready, "the browser does not answer"
            read = os.read(self.reading, 1 << 20)
            assert read, "the browser has gone"
            self._left += read
        found, self._left = self._left.split(b"\0", 1)
        return dict(json.loads(found))

    def _notify(self, method: str, given: dict[str, Any]) -> None:
        listen = LISTENERS.get(method)
        if listen:
            listen(self, given)


def _on_request(browser: Browser, given: dict[str, Any]) -> None:
    browser.requests.append(given["request"]["url"])


def _on_log_entry(browser: Browser, given: dict[str, Any]) -> None:
    if given["entry"]["level"] in ("error", "warning"):
        browser.complaints.append(given["entry"]["text"])


def _on_console_message(browser: Browser, given: dict[str, Any]) -> None:
    if given["type"] in ("error", "warning", "assert"):
        browser.complaints.append(str([one.get("value") for one in given["args"]]))


def _on_exception(browser: Browser, given: dict[str, Any]) -> None:
    details = given["exceptionDetails"]
    browser.complaints.append(details.get("exception", {}).get("description", details["text"]))


LISTENERS: dict[str, Callable[[Browser, dict[str, Any]], None]] = {
    "Network.requestWillBeSent": _on_request,
    "Log.entryAdded": _on_log_entry,
    "Runtime.consoleAPICalled": _on_console_message,
    "Runtime.exceptionThrown": _on_exception,
}


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, until it is left."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run")
    quiet = ("--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}")
    command = [str(program()), *flags, *quiet, "about:blank"]
    # the pipe is expected at these very numbers
    swapped = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
    started = ["bash", "-c", swapped, "bash", *command]
    process = subprocess.Popen(started, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        browser = Browser(ours_in, ours_out)
        browser.attach()
        yield browser
    finally:
        process.terminate()
        process.wait()
        os.close(ours_in)
        os.close(ours_out)


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; without one, what needs it is skipped aloud."""
    if program() is None:
        pytest.skip("NO CHROMIUM: pages are not looked at in a browser")
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def audit(tab: Browser) -> Iterator[Callable[[], Any]]:
    """What axe-core has against the page that is opened after this: its pages admit no other script."""

    def found() -> Any:
        tab.ask(AXE.read_text(encoding="utf-8") + ";0")
        return json.loads(tab.ask(AUDIT))

    tab.call("Page.setBypassCSP", enabled=True)
    yield found
    tab.call("Page.setBypassCSP", enabled=False)


@pytest.fixture(scope="session")
def site(nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report over both nights."""
    out = tmp_path_factory.mktemp("site")
    write_lake_pages(nights, out, {"benchmark": PagesOf(write_run_pages, "index.html")})
    return out
