"""``kubectl describe pod``: how containers ended, and on which node; ``kubectl describe node``: its
conditions.

::

    Name:         trainer-worker-1
    Node:         gpu-17/10.0.0.12
    Containers:
      trainer:
        State:        Terminated
          Reason:     OOMKilled
          Exit Code:  137
          Finished:   Fri, 20 Nov 2026 10:29:40 +0000
"""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat, format_line_about

_BEGINS: Final = compile_re(
    r"(?:\$ kubectl[^\n]{1,300}\n)?Name:[ \t]+\S+[ \t]*\r?\n"
    r"(?:(?:[A-Z][^\n]{0,300}\n){0,8}?Node:[ \t]+\S"
    r"|(?:[^\n]{0,300}\n){0,80}?Conditions:[ \t]*\r?\n +Type +Status)"
)
_DATE: Final = compile_re(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_FIELD: Final = compile_re(r"( *)([A-Z][A-Za-z /]{0,40}):[ \t]*(.{0,300})$")
_CONTAINER: Final = compile_re(r"  ([a-z0-9][\w.-]{0,200}):\s*$")
# Columns of a container's state, and of the fields in it.
_STATE, _IN_STATE = 4, 6


def describe_end(pod: str, container: str, node: str, end: dict[str, str]) -> str:
    """How a container ended, in one line about its node; ``end`` holds ``Reason``, ``Exit Code``
    and ``Finished``.
    """
    words = f"pod/{pod} container {container} terminated: Reason: {end.get('Reason', 'unknown')}"
    return format_line_about(
        _normalize_time(end.get("Finished", "")),
        node,
        f"{words}, Exit Code: {end.get('Exit Code', '')}",
    )


def _normalize_time(text: str) -> str:
    """``Fri, 20 Nov 2026 10:29:40 +0000`` as RFC 3339; other text as it is."""
    try:
        return parsedate_to_datetime(text).isoformat()
    except ValueError:
        return text


def _iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """One line for each end of a container and condition of a node; every other as it is."""
    pod = node = container = section = ""
    end: dict[str, str] | None = None
    offset = began = 0
    for line in [*text.split("\n"), ""]:
        field = _FIELD.match(line.rstrip("\r"))
        depth = len(field[1]) if field else 0
        if end is not None and not (field and depth >= _IN_STATE):
            if end.get("Exit Code") != "0":
                yield began, describe_end(pod, container, node, end)
            end = None
        if field and depth == _STATE and field[2].endswith("State") and field[3] == "Terminated":
            end, began = {}, offset
        elif field and end is not None:
            end[field[2]] = field[3].strip()
        elif section == "Conditions" and not (node or field) and (dates := _DATE.findall(line)):
            yield offset, format_line_about(_normalize_time(dates[-1]), pod, line.strip())
        else:
            section = field[2] if field and not depth else section
            if field and not depth and field[2] == "Name":
                pod, node = field[3].strip(), ""
            elif field and not depth and field[2] == "Node":
                node = field[3].split("/")[0].strip()
            elif named := _CONTAINER.match(line):
                container = named[1]
            yield offset, line
        offset += len(line) + 1


def _is_description(text: str) -> bool:
    return _BEGINS.match(text) is not None


POD_DESCRIPTION: Final = DocumentFormat("pod_description", _is_description, _iterate_lines)
