"""What a request says of the bytes it brings, and each file that came with it.

Facts of a job as they may be kept: without the secrets that a scheduler's script sent along.

A whole environment often comes with them. What is found is replaced as in logs: within its
text, or as a whole where only its key tells (``"db_password": ...``).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import orjson

from triage.domain.caller import Caller
from triage.domain.failure_match import JobAttempt
from triage.errors import ArtifactError, Forbidden, Gone, TooLarge, Unprocessable
from triage.parsers.redact.own import NO_PATTERNS, OwnPatterns
from triage.parsers.redact.redact import Redactor


class Erased(ArtifactError):
    """A file that a person had erased, and that came again."""

    def __init__(self) -> None:
        super().__init__("it was erased on request, and is not taken again")


@dataclass(frozen=True, slots=True)
class Target:
    """What a request says of the bytes it brings; None where it says nothing."""

    job_id: str
    node: str | None = None
    rank: int | None = None
    kind: str | None = None
    filename: str | None = None
    incident: str | None = None
    cluster: str | None = None
    attempt: str | None = None
    caller: Caller = field(default_factory=Caller)

    @property
    def job(self) -> JobAttempt:
        """The job, as far as the request and its token name it."""
        bound = self.caller.cluster is not None
        return JobAttempt(self.job_id, self.cluster or "", self.attempt or "", bound)


@dataclass(slots=True)
class ReceivedFile:
    """One file that came: stored in the pack of its upload, there already, or refused.

    It is filled in while the file is read. ``sha256`` and ``size_bytes`` are of the file behind
    Content-Encoding: of a member, as it lies in the tar. ``position`` and ``stored_bytes`` say
    where its frame lies in the pack, 0 bytes where nothing was kept; ``plain_bytes`` is its
    length when it is read from there.
    """

    name: str
    """As the tar, or the request, has it; for display."""
    node: str | None = None
    rank: int | None = None
    kind: str = ""
    is_digest: bool = False
    """Whether it is the digest of a dump, made on its node."""
    filename: str = ""
    """Without ``nodes/<node>/``; never empty once the file was read."""
    sha256: str = ""
    size_bytes: int = 0
    plain_bytes: int = 0
    position: int = 0
    stored_bytes: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    written_at: datetime | None = None
    """When the job last wrote it, where the tar says so."""
    notes: list[str] = field(default_factory=list)
    error: ArtifactError | None = None
    """Why it is refused; nothing of it is in the pack then."""
    repeats: bool = False
    """Whether the same file came before it in one bundle."""
    data: bytes | None = None
    """The content of a bundle's ``job.json``, which is not stored."""

    @property
    def note(self) -> str:
        """What is odd about a file that was taken, empty where nothing is."""
        return "; ".join(note for note in self.notes if note)

    @property
    def reason(self) -> str | None:
        """Why it is refused, None for a file that was taken."""
        return None if self.error is None else str(self.error)

    @property
    def status(self) -> int:
        """200; of a refused one 410 where it was erased, 413 beyond a limit, else 422."""
        if self.error is None:
            return 200
        if self.erased:
            return Gone.status
        return (TooLarge if isinstance(self.error, Forbidden) else Unprocessable).status

    @property
    def erased(self) -> bool:
        """Whether it is refused for having been erased: then no word of it is kept."""
        return isinstance(self.error, Erased)

    @property
    def identity(self) -> str:
        """The same text for two uploads of one incident that are the same artifact."""
        parts = [self.kind, self.node, self.rank, self.sha256]
        if self.error is not None:
            parts = ["refused", self.node, self.rank, f"{self.filename} {self.reason}"]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def redact_facts(facts: Mapping[str, Any], own: OwnPatterns = NO_PATTERNS) -> dict[str, Any]:
    """The same object, with ``[redacted:kind]`` for each secret; the given one stays as it is."""
    redact = partial(_redact_text, own)
    # Hardly any object holds one, and a look at all of it is quick.
    if not redact(json.dumps(facts, ensure_ascii=False, indent=0, default=str))[1]:
        return dict(facts)
    return {redact(key)[0]: _redact_value(redact, key, value) for key, value in facts.items()}


_Redact = Callable[[str], tuple[str, list[str]]]


def _redact_value(redact: _Redact, key: str, value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        return {
            redact(str(name))[0]: _redact_value(redact, str(name), one)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [_redact_value(redact, key, one) for one in value]
    if isinstance(value, str):
        value = redact(value)[0]
    elif value is None or isinstance(value, bool):
        return value
    as_json = json.dumps({key: value}, ensure_ascii=False)
    kinds = redact(as_json)[1] or redact(f"{key}={value}")[1]
    return f"[redacted:{kinds[0]}]" if kinds else value


def _redact_text(own: OwnPatterns, text: str) -> tuple[str, list[str]]:
    """The text without secrets, and the kinds of those that it held."""
    redactor = Redactor(own)
    out = redactor.feed(text.encode("utf-8", "replace")) + redactor.finish()
    return out.decode("utf-8", "replace"), list(redactor.counts)
