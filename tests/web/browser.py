"""Real Chromium, driven over a pipe by its own protocol: no driver, no socket, nothing to install.

Each page remembers what went wrong on it: errors on the console, exceptions, requests to
other hosts, and everything that the content security policy stopped.
"""

import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "headless_shell")
PATIENCE_S = 180.0
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "n": 78, "p": 80, "/": 191,
}  # fmt: skip


def chromium() -> str:
    """Where it lies; skipped by name where there is none."""
    given = os.environ.get("TRIAGE_TEST_CHROMIUM")
    found = given or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("Chromium is not there")
    return found


class Failed(Exception):
    """The protocol, or a script on the page, said no."""


class Browser:
    """One process; pages are windows of it, each with storage of its own."""

    def __init__(self, path: str, profile: str) -> None:
        to_read, self.sink = os.pipe()
        self.source, to_write = os.pipe()
        arguments = [
            path, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
            f"--user-data-dir={profile}", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-default-apps",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
            "--font-render-hinting=none", "about:blank",
        ]  # fmt: skip
        # The browser looks for the pipe at these two places.
        moved = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", moved, "bash", *arguments], pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.lock = threading.Lock()
        self.answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self.pages: dict[str, Page] = {}
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        with os.fdopen(self.source, "rb") as source:
            window = b""
            while piece := source.read1(1 << 16):
                *whole, window = (window + piece).split(b"\0")
                for one in whole:
                    self.hear(json.loads(one))

    def hear(self, told: dict[str, Any]) -> None:
        waiting = self.answers.pop(told.get("id", -1), None)
        if waiting is not None:
            waiting.put(told)
        page = self.pages.get(told.get("sessionId", ""))
        if page is not None and "method" in told:
            page.hear(told["method"], told["params"])

    def call(self, method: str, session: str | None = None, /, **params: Any) -> dict[str, Any]:
        """One command and its result."""
        answer: queue.Queue[dict[str, Any]] = queue.Queue()
        with self.lock:
            self.number += 1
            self.answers[self.number] = answer
            said = {"id": self.number, "method": method, "params": params}
            if session is not None:
                said["sessionId"] = session
            os.write(self.sink, json.dumps(said).encode() + b"\0")
        found = answer.get(timeout=PATIENCE_S)
        if "error" in found:
            raise Failed(f"{method}: {found['error']['message']}")
        return found["result"]

    def page(self, width: int = 1200, height: int = 900, *, dark: bool = False) -> "Page":
        """A new window in a context of its own: no cookies of other tests."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call(
            "Target.createTarget", url="about:blank", browserContextId=context, width=width,
            height=height,
        )["targetId"]  # fmt: skip
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        found = Page(self, session, context)
        self.pages[session] = found
        for domain in ("Page", "Runtime", "Network", "Log", "Audits", "DOM"):
            found.call(f"{domain}.enable")
        found.call("Page.setLifecycleEventsEnabled", enabled=True)
        found.size(width, height)
        found.scheme("dark" if dark else "light")
        return found

    def close(self) -> None:
        """End the process."""
        os.close(self.sink)  # the browser goes with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Page:
    """A window, and what went wrong in it."""

    browser: Browser
    session: str
    context: str
    loaded: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    statuses: list[tuple[str, int]] = field(default_factory=list)
    bytes_in: int = 0
    dialogs: int = 0
    expected: tuple[str, ...] = ()

    def hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self.loaded.append(params["loaderId"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs += 1
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"].get("exception", params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif method == "Audits.issueAdded":
            if params["issue"]["code"] == "ContentSecurityPolicyIssue":
                self.blocked.append(json.dumps(params["issue"]["details"]))
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            self.requests.append(url)
            if urlsplit(url).scheme not in ("data", "blob", "about"):
                self.hosts.add(urlsplit(url).netloc)
        elif method == "Network.responseReceived":
            self.statuses.append((params["response"]["url"], params["response"]["status"]))
        elif method == "Network.loadingFinished":
            self.bytes_in += int(params["encodedDataLength"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def scheme(self, name: str) -> None:
        """``light`` or ``dark``, as the reader's system says."""
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    def goto(self, url: str) -> None:
        """Open it, and wait until it is loaded."""
        told = self.call("Page.navigate", url=url)
        if told.get("errorText"):
            raise Failed(f"{url}: {told['errorText']}")
        if told.get("loaderId"):
            self.until(lambda: told["loaderId"] in self.loaded, f"{url} to load")

    def run(self, script: str) -> Any:
        """The value of an expression on the page; promises are waited for."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True,
            userGesture=True,
        )  # fmt: skip
        if "exceptionDetails" in told:
            raise Failed(json.dumps(told["exceptionDetails"])[:2000])
        return told["result"].get("value")

    def wait(self, script: str, timeout_s: float = PATIENCE_S) -> Any:
        """Until the expression is true, across navigations."""
        found: list[Any] = []

        def true() -> bool:
            try:
                found[:] = [self.run(script)]
            except Failed:
                return False
            return bool(found[0])

        self.until(true, script, timeout_s)
        return found[0]

    def until(self, done: Any, what: str, timeout_s: float = PATIENCE_S) -> None:
        end = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > end:
                told = f"at {self.requests[-1:]}, errors: {self.errors[:3]}"
                raise Failed(f"waited {timeout_s:.0f} s for {what}; {told}")
            time.sleep(0.05)

    def text(self, selector: str = "main") -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector: str) -> None:
        """As a person does: where it is, with the mouse."""
        box = self.run(
            f"(async () => {{ const e = document.querySelector({json.dumps(selector)});"
            " const frame = () => new Promise(requestAnimationFrame);"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " await frame(); await frame();"
            " const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                clickCount=1,
            )  # fmt: skip

    def key(self, *names: str, shift: bool = False) -> None:
        """Press keys, one after the other."""
        for name in names:
            given = {
                "key": name, "code": name, "windowsVirtualKeyCode": KEYS[name],
                "modifiers": 8 if shift else 0,
            }  # fmt: skip
            text = {"Enter": "\r", " ": " "}.get(name, name if len(name) == 1 else "")
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **given)
            self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def write(self, text: str) -> None:
        """Type text where the focus is."""
        self.call("Input.insertText", text=text)

    def choose(self, selector: str, paths: Sequence[Path]) -> None:
        """Choose files in a file field."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path) for path in paths], nodeId=node)

    def drop(self, selector: str, paths: Sequence[Path], last: str) -> None:
        """Drag files over an element, as far as ``last``: ``dragOver`` or ``drop``."""
        x, y = self.run(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x + 20, b.y + 20]; })()"
        )
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
            if kind == last:
                break

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """What it looks like, as a PNG."""
        given: dict[str, Any] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            given["clip"] = {
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1
            }  # fmt: skip
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **given)["data"]))

    def wrong(self) -> list[str]:
        """All that should not have happened."""
        own = {urlsplit(url).netloc for url in self.requests[:1]}
        told = [one for one in self.errors if not any(two in one for two in self.expected)]
        told += [f"policy: {one}" for one in self.blocked]
        told += [f"request to {host}" for host in self.hosts - own]
        return told + ["a dialog was opened"] * self.dialogs


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser until the block ends."""
    path = chromium()
    with tempfile.TemporaryDirectory(prefix="triage-browser-", ignore_cleanup_errors=True) as home:
        found = Browser(path, home)
        try:
            yield found
        finally:
            found.close()
