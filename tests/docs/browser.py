"""Headless Chromium, driven over the WebDriver protocol. Needs `chromium` and `chromedriver` on the path."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import Request, urlopen

__all__ = ["BROWSERS", "Browser", "missing"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_HEIGHT = 900
_TIMEOUT_S = 30


def missing() -> str:
    """Why there is no browser; empty if there is one."""
    if not any(map(shutil.which, BROWSERS)):
        return f"none of {', '.join(BROWSERS)} is installed"
    return "" if shutil.which("chromedriver") else "chromedriver is not installed"


class Browser:
    """A browser whose window is `width` pixels wide, as a context manager."""

    def __init__(self, width: int, profile: Path) -> None:
        self._width = width
        self._profile = profile

    def __enter__(self) -> Self:
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self._session = f"http://127.0.0.1:{self._port()}"
            self._session += f"/session/{self._call('POST', '/session', self._capabilities())['sessionId']}"
        except BaseException:
            self._end_driver()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._end_driver()

    def open(self, url: str) -> None:
        """Load a page and wait until it is complete."""
        self._call("POST", "/url", {"url": url})

    def evaluate(self, script: str, *arguments: str) -> Any:
        """Run a function body in the page and return its result, or that of the promise that it returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": arguments})

    def screenshot(self) -> bytes:
        """Return what the window shows, as PNG."""
        return base64.b64decode(self._call("GET", "/screenshot"))

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found[1])
        raise RuntimeError(f"chromedriver ended with status {self._driver.wait()}")

    def _capabilities(self) -> dict[str, Any]:
        metrics = {"width": self._width, "height": _HEIGHT, "pixelRatio": 1, "touch": False, "mobile": False}
        options = {
            "binary": next(path for path in map(shutil.which, BROWSERS) if path),
            "args": [*_FLAGS, f"--user-data-dir={self._profile}"],
            "mobileEmulation": {"deviceMetrics": metrics},
        }
        return {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._session + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=_TIMEOUT_S) as response:
            return json.load(response)["value"]

    def _end_driver(self) -> None:
        self._driver.terminate()
        self._driver.wait()
        if self._driver.stdout is not None:
            self._driver.stdout.close()
