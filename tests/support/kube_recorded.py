"""What a real API server of Kubernetes said, kept, and said again where none can be had.

A conversation is one test's: JSON lines, each a request and its answer, in their order. Who asked
stands there as the name of a user; tokens, addresses and certificates do not. What differs from
run to run is written in a way that does not: uids and resource versions by the order in which they
first came, and all times as one. So a conversation that is recorded anew differs where the server
says something else, and nowhere besides.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tests.support.kube import Asked, Kube, kube_of

UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


ONE_TIME: Final = "2026-01-01T00:00:00Z"


class Stable:
    """Names that stay the same from run to run for what does not."""

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def of(self, value: Any, key: str = "") -> Any:
        """The value as it is kept; ``key`` is what it stands under."""
        if isinstance(value, dict):
            return {name: self.of(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.of(one) for one in value]
        if not isinstance(value, str):
            return value
        if key == "resourceVersion" and value:
            return self.versions.setdefault(value, str(1000 + len(self.versions)))
        return TIME.sub(ONE_TIME, UID.sub(self.uid, value))

    def uid(self, found: re.Match[str]) -> str:
        number = len(self.uids)
        return self.uids.setdefault(found[0], f"00000000-0000-4000-8000-{number:012}")


@contextmanager
def recording(real: Kube, file: Path) -> Iterator[Kube]:
    """A server that hands all on to a real one, and keeps what was said in ``file``."""
    lines: list[dict[str, Any]] = []

    def answer(asked: Asked) -> tuple[int, Any]:
        assert asked.user is not None
        status, said = real.request(asked.method, asked.path, asked.body, asked.kind, asked.user)
        lines.append({**request_of(asked), "status": status, "answer": said})
        return status, said

    with kube_of(answer) as kube:
        yield kube
    stable = Stable()
    kept = [json.dumps(stable.of(line), separators=(",", ":")) for line in lines]
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in kept), "utf-8")


@contextmanager
def replaying(file: Path) -> Iterator[Kube]:
    """A server that says what ``file`` holds, in its order, to who asks what was asked then.

    Looks may be left out, for they change nothing. What was not asked then, or not at this point,
    fails the test, and so does a change that is left out.
    """
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    strange: list[str] = []

    def answer(asked: Asked) -> tuple[int, Any]:
        wanted = comparable(request_of(asked))
        while lines:
            line = lines.pop(0)
            if comparable(line) == wanted:
                return line["status"], line["answer"]
            if line["method"] != "GET":
                lines.insert(0, line)
                break
        strange.append(f"asked: {wanted}\nrecorded: {comparable(lines[0]) if lines else 'no more'}")
        return 400, {"kind": "Status", "message": "this is not in the recording"}

    with kube_of(answer) as kube:
        yield kube
    assert not strange, f"{file.name} does not hold this; record it anew\n{strange[0]}"
    left = [comparable(line) for line in lines if line["method"] != "GET"]
    assert not left, f"{file.name} holds changes that were not asked for: {left[0]}"


def request_of(asked: Asked) -> dict[str, Any]:
    return {
        "user": asked.user, "method": asked.method, "path": asked.path, "kind": asked.kind,
        "body": asked.body,
    }  # fmt: skip


def comparable(line: dict[str, Any]) -> dict[str, Any]:
    """A request, alike for any order of its query and of its keys, and for any time in it."""
    split = urlsplit(line["path"])
    return {
        "user": line["user"],
        "method": line["method"],
        "path": split.path,
        "query": sorted(parse_qsl(split.query, keep_blank_values=True)),
        # A look's kind says nothing: it has no body.
        "kind": line["kind"] if line["body"] is not None else "",
        "body": json.loads(TIME.sub(ONE_TIME, json.dumps(line["body"]))),
    }
