"""A real browser for tests of the HTML report: headless Chromium, spoken to by its own debugging protocol on loopback.

Loads files only. What the page writes to the console or tries to load is kept: a test can say that there was nothing.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 60
ANSWER_SECONDS = 60
LISTENING = re.compile(r"DevTools listening on (ws://127\.0\.0\.1:\d+)/")


def program() -> str | None:
    """Find the browser; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass(slots=True)
class Page:
    """One page of the browser."""

    socket: Any
    events: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; events that come meanwhile are kept."""
        self._number += 1
        self.socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def open(self, file: Path, width: int = 1200, height: int = 900) -> None:
        """Load a file and wait until it is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(json.loads(self.socket.recv()))
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, waiting for a promise, and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, file: Path, *, top: float = 0, height: float | None = None) -> bytes:
        """Write a picture of the page, or of a part of it, and return its bytes."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top, "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        content = base64.b64decode(answer["data"])
        file.write_bytes(content)
        return content

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def complaints(self) -> list[str]:
        """Return what the page wrote to the console and what the browser said about it."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Return every address that was asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [str(event["params"]["request"]["url"]) for event in sent]


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start a browser whose profile lies in a folder; it is stopped by its own pid when the context ends."""
    command = [
        program() or NAMES[0],
        "--headless",
        "--no-sandbox",  # tests may run as root
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        address = _address(process, log)
        target = _target(address)
        socket = websocket.create_connection(target, timeout=ANSWER_SECONDS, suppress_origin=True)
        try:
            yield Page(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = LISTENING.search(log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"the browser did not start: {log.read_text(errors='replace')[-2000:]}")


def _target(address: str) -> str:
    import urllib.request

    with urllib.request.urlopen(f"{address.replace('ws://', 'http://')}/json/list", timeout=ANSWER_SECONDS) as answer:
        pages = [one for one in json.load(answer) if one["type"] == "page"]
    return str(pages[0]["webSocketDebuggerUrl"])
