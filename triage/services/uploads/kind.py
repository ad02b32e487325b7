"""What a file is, by its first bytes; what was declared counts where they do not tell."""

from dataclasses import dataclass
from typing import Final

from triage.parsers.flight_recorder.recognise import claimed
from triage.parsers.logs.layout import layout_of
from triage.parsers.logs.source import encoding_of, why_no_text
from triage.parsers.telemetry.recognise import Form, form_of

__all__ = [
    "FLIGHT_RECORDER", "JOB_JSON", "JOB_LOG", "KERNEL_LOG", "LOOK_BYTES", "TELEMETRY", "Kind",
    "kind_of",
]  # fmt: skip

FLIGHT_RECORDER: Final = "flight_recorder"
KERNEL_LOG: Final = "kernel_log"
JOB_LOG: Final = "job_log"
JOB_JSON: Final = "job_json"
TELEMETRY: Final = "telemetry"
# Looked at to tell a kernel's log from a job's: its first twelve lines.
LOOK_BYTES: Final = 16 << 10
DUMP_LOOK_BYTES: Final = 4096
WORDS: Final = {
    FLIGHT_RECORDER: "a dump",
    KERNEL_LOG: "a kernel log",
    JOB_LOG: "a job log",
    TELEMETRY: "telemetry",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """``dump`` is whether its bytes are a dump's or a table's, and no secret is looked for in
    them.
    """

    kind: str
    dump: bool
    note: str = ""


def kind_of(head: bytes, name: str, declared: str | None) -> Kind:
    """The kind of the file that begins with the plain bytes ``head``.

    An empty file, and binary data that no reader claims, are what they were declared to
    be; the parser will say that it cannot read them.
    """
    if claimed(head[:DUMP_LOOK_BYTES], name):
        return noted(FLIGHT_RECORDER, declared, dump=True)
    if form_of(head) is Form.PARQUET:
        return noted(TELEMETRY, declared, dump=True)
    encoding = encoding_of(head)
    text = head.decode(encoding, "replace").encode() if encoding else head
    if not text or why_no_text(text) is not None:
        return Kind(declared or JOB_LOG, dump=False)
    if form_of(text) is not None:
        return noted(TELEMETRY, declared, dump=False)
    kernel = layout_of(text).kernel
    return noted(KERNEL_LOG if kernel else JOB_LOG, declared, dump=False)


def noted(kind: str, declared: str | None, *, dump: bool) -> Kind:
    if declared is None or declared == kind:
        return Kind(kind, dump)
    said = WORDS.get(declared, declared)
    return Kind(kind, dump, f"declared as {said}; its content is {WORDS[kind]}")
