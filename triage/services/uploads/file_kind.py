"""What an uploaded file is, by its first bytes; what was declared counts where they do not tell."""

from dataclasses import dataclass
from typing import Final

from triage.domain.file_kind import FileKind
from triage.parsers.files.text import detect_encoding, explain_no_text

# Looked at to tell a kernel's log from a job's: its first twelve lines.
LOOK_BYTES: Final = 16 << 10
_WORDS: Final[dict[str, str]] = {
    FileKind.FLIGHT_RECORDER: "a dump",
    FileKind.KERNEL_LOG: "a kernel log",
    FileKind.JOB_LOG: "a job log",
    FileKind.TELEMETRY: "telemetry",
}


@dataclass(frozen=True, slots=True)
class IdentifiedFile:
    """What a file is kept as.

    ``binary`` is whether it is stored as it came, and no secret is looked for in it. ``note``
    says where its content is not what was declared.
    """

    kind: str
    binary: bool = False
    note: str = ""


def identify_file(head: bytes, name: str, declared: str | None) -> IdentifiedFile:
    """What the file is that begins with the plain bytes ``head``.

    An empty file, and binary data that no format claims, are what they were declared to
    be; the reader will say that it cannot read them.
    """
    # The table of formats takes long to load: with the first file, and not at the start.
    from triage.formats.format import Head
    from triage.formats.registry import get_stored_kind, identify

    encoding = detect_encoding(head)
    text = head.decode(encoding, "replace").encode() if encoding else head
    decoded = Head(text, name)
    raw = Head(head, name)
    # To tell whether bytes are text takes longer than to know a dump.
    row = identify(raw, None)
    if row is None and text and explain_no_text(text) is None:
        row = identify(raw, decoded)
    if row is None:
        return IdentifiedFile(declared or FileKind.JOB_LOG)
    kind = get_stored_kind(row, decoded)
    if declared is None or declared == kind:
        return IdentifiedFile(kind, row.binary)
    words = _WORDS.get(declared, declared)
    return IdentifiedFile(kind, row.binary, f"declared as {words}; its content is {_WORDS[kind]}")
