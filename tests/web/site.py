"""What a browser without scripts does: pages read as text and links, forms sent with a cookie."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

from tests.api.service import Answer, Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.domain.states import WorkKind

GOOD = files_of(GPU_LOST)
BLOCKS = {"td", "th", "tr", "li", "p", "h1", "h2", "dt", "dd", "div", "section", "option", "pre"}


def analyse(service: Service) -> None:
    """All work that is due."""
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)


@contextmanager
def working(service: Service) -> Iterator[None]:
    """A worker beside, until the block ends."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            analyse(service)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def sent(service: Service, job_id: str, files: Mapping[str, bytes]) -> str:
    """The id of an incident that expects just these files, which are in."""
    token = None if service.app.state.triage.open_access else "admin"
    found = service.post(
        "/v1/hooks/job-failed", {"job_id": job_id, "expected_artifacts": len(files)}, token=token
    )
    incident: str = found.json()["incident"]["id"]
    path = f"/v1/jobs/{quote(job_id, safe='')}/bundle?incident={incident}"
    answer = service.post(path, tar_of(dict(files)), token=token)
    assert answer.status == 201, answer.body
    return incident


class Reading(HTMLParser):
    """A page taken apart. ``words`` is its text, ``tags`` are (name, attributes) in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.pieces: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.pieces).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """Attributes of the elements of this name with these attributes."""
        return [
            found
            for name, found in self.tags
            if name == tag
            and wanted.items() <= {k.rstrip("_"): v for k, v in found.items()}.items()
        ]

    def links(self) -> list[str]:
        return [one["href"] for one in self.all("a") if "href" in one]


@dataclass
class Visit:
    """A browser without scripts: keeps its cookie, sends forms, follows redirects by hand."""

    service: Service
    cookie: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Answer:
        return self.service.call("GET", path, token=None, headers=self.headers(headers))

    def read(self, path: str) -> Reading:
        answer = self.get(path)
        assert answer.status == 200, (path, answer.status, answer.body[:500])
        return Reading(answer.body.decode())

    def submit(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        more = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        answer = self.service.call(
            "POST", path, urlencode(fields).encode(), token=None, headers=self.headers(more)
        )
        self.keep(answer)
        return answer

    def word(self, path: str = "/upload") -> str:
        """What signs the forms of this session."""
        return self.read(path).all("input", name="word")[0]["value"]

    def log_in(self, scope: str) -> Answer:
        return self.submit("/login", {"token": self.service.tokens[scope]})

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {**({"Cookie": self.cookie} if self.cookie else {}), **named}

    def keep(self, answer: Answer) -> None:
        given = answer.headers.get("set-cookie")
        if given is not None:
            name, _, value = given.partition(";")[0].partition("=")
            self.cookie = f"{name}={value}" if value.strip('"') else ""
