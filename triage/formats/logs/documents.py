"""Documents of many records as a log: one line a record, at the line where it begins.

Tools print lists as one document: ``kubectl get events -o json``, a Redfish collection,
``racadm getsel``, a controller's event list saved as a table, ``journalctl -o json-pretty``. Each
record becomes a line in the words that the signatures know; all other JSON stays as it is, on
one line. A document is held whole while it is read, so its size is bounded.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from triage.formats.format import Head, ReadLines
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.source import HEAD_BYTES, LogStream, ReadAhead

__all__ = [
    "BLOCK_LIST",
    "DOCUMENTS",
    "EVENT_TABLE",
    "JSON_DOCUMENT",
    "DocumentFormat",
    "lines_of_document",
]

MAX_BYTES: Final = 16 << 20
MAX_RECORDS: Final = 200_000
# The members of a document that are its records.
LISTS: Final = (
    "items", "Members", "events", "entries", "records", "Events", "LogEntries", "logEvents", "hits",
    "result", "results", "tables",
)  # fmt: skip
# What stands around such a list in answers of stores of logs.
AROUND: Final = ("data", "hits")
# What may stand before a document.
BLANK: Final = "\ufeff \t\r\n"
DECODER: Final = json.JSONDecoder(strict=False)
SPACE: Final = re.compile(r"[\s,]*")
OPENS: Final = re.compile(
    r"\s*(?:\{\s*\n|\[\s*\n|\[\s*\{|\{\s*\"(?:apiVersion|@odata)[^\n]{0,200}\n?"
    # Loki, CloudWatch, Elasticsearch and Azure Monitor answer on one line.
    r"|\{\s*\"(?:status|data|events|logEvents|messageType|owner|took|hits|results|tables|searched\w*"
    r"|nextToken)\"\s*:)"
)
BLOCK: Final = re.compile(
    r"^(?:Record|SeqNumber|Record ID|Entry|Number)[ \t]*[:=][ \t]*\d{1,9}\r?$", re.MULTILINE
)
TIME_COLUMNS: Final = (
    "time stamp", "timestamp", "date/time", "date time", "datetime", "date", "time", "created",
    "last update", "event time", "last occurrence",
)  # fmt: skip
WORD_COLUMNS: Final = ("description", "message", "event description", "event message", "event")
SENSOR_COLUMNS: Final = ("sensor name", "sensor", "component", "source", "entity", "fru")
SEVERITY_COLUMNS: Final = ("severity", "level", "event severity")
HOST_COLUMNS: Final = ("host", "hostname", "node", "node name", "server", "system name", "bmc")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """``begins`` looks at the text without what stands empty before it.

    ``records`` gives (offset, line) of each record of the whole document.
    """

    name: str
    begins: Callable[[str], bool]
    records: Callable[[str], Iterator[tuple[int, str]]]
    kind: None = None
    binary: bool = False

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is such a document."""
        return self.begins(head.whole_text.lstrip(BLANK))

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The records as lines of a log."""
        return read_lines(as_lines(stream, self))


def as_lines(stream: LogStream, document: DocumentFormat) -> LogStream:
    """The records of ``stream`` as lines; its own lines where it is too large or has none."""
    data = bytearray(MAX_BYTES + 1)
    got = stream.fill(memoryview(data))
    whole = bytes(data[:got])
    rest = LogStream(stream.artifact, whole[:HEAD_BYTES], io.BytesIO(whole[HEAD_BYTES:]).read)
    rest.notes, rest.total = stream.notes, stream.total
    if got > MAX_BYTES:
        rest.read = ReadAhead(whole[HEAD_BYTES:], stream).read
        rest.notes.append(f"a list of records, but more than {MAX_BYTES >> 20} MiB: read as a log")
        return rest
    lines = lines_of_document(whole.decode("utf-8", "replace"), document)
    if lines is None:
        return rest
    as_bytes = lines.encode("utf-8", "replace")
    rest = LogStream(stream.artifact, as_bytes[:HEAD_BYTES], io.BytesIO(as_bytes[HEAD_BYTES:]).read)
    rest.notes = stream.notes
    return rest


def lines_of_document(text: str, document: DocumentFormat) -> str | None:
    """The records of a document as lines at their places; None where it has none."""
    out: list[str] = []
    count, counted = 0, 0
    for offset, line in document.records(text):
        count += text.count("\n", counted, offset)
        counted = offset
        out.extend([""] * (count - len(out)))
        out.append(" ".join(line.split("\n")))
        if len(out) > MAX_RECORDS * 64:
            break
    return "\n".join(out) + "\n" if out else None


def is_json_document(text: str) -> bool:
    """Whether JSON begins that is no log of one value a line."""
    return text.startswith(("{", "[")) and OPENS.match(text) is not None and not is_json_line(text)


def is_block_list(text: str) -> bool:
    """Whether the first line numbers a record."""
    return BLOCK.match(text) is not None


def is_event_table(text: str) -> bool:
    """Whether the first line names the columns of a controller's list."""
    if text.startswith(("{", "[")):
        return False
    return table_columns(text.partition("\n")[0]) is not None


def is_json_line(text: str) -> bool:
    """Whether the first line is a whole value by itself, and no list of records."""
    first = text.partition("\n")[0]
    try:
        value, end = DECODER.raw_decode(first)
    except ValueError:
        return False
    if isinstance(value, list):
        return not any(isinstance(one, dict) for one in value)
    if first[end:].strip():
        return False
    return not any(has_list(one) for one in (value, *(value.get(name) for name in AROUND)))


def has_list(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether an object holds a list of records."""
    return isinstance(value, dict) and any(isinstance(value.get(one), list) for one in LISTS)


# --- JSON


def of_json(text: str) -> Iterator[tuple[int, str]]:
    """Each record of lists and of values one behind the other."""
    at = SPACE.match(text, 0).end()  # type: ignore[union-attr]
    while at < len(text):
        if text[at] == "[":
            at = SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
            continue
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            inner = text.find("{", at + 1)
            if inner < 0:
                return
            at = inner
            continue
        if isinstance(value, dict):
            yield from of_value(text, at, end, value, {})
        at = SPACE.match(text, end).end()  # type: ignore[union-attr]
        while at < len(text) and text[at] in "]}":
            at = SPACE.match(text, at + 1).end()  # type: ignore[union-attr]


def of_value(
    text: str, start: int, end: int, value: dict[str, Any], around: Record
) -> Iterator[tuple[int, str]]:
    """The records in one object: its members, else itself."""
    for name in AROUND:
        inner = value.get(name)
        if has_list(inner):
            yield from of_value(text, start, end, inner, around)
            return
    for name in LISTS:
        members = value.get(name)
        if name in ("results", "tables"):
            members = of_columns(members)
        direct = members is value.get(name)
        if isinstance(members, list) and members and all(isinstance(one, dict) for one in members):
            mine = {k: v for k, v in value.items() if isinstance(v, str | int | float)}
            begin = re.compile(rf'"{name}"\s*:\s*\[').search(text, start, end)
            at = start if begin is None else begin.end() - 1
            if not direct or any("stream" in one for one in members):
                for one in members:  # they are no objects in the text
                    yield from ((start, line) for line in record_lines(one, {**around, **mine}))
                return
            for one in members:
                at = text.find("{", at + 1, end)
                stop = at
                if at >= 0:
                    try:
                        _, stop = DECODER.raw_decode(text, at)
                    except (ValueError, RecursionError):
                        return
                yield from of_value(text, at, stop, one, {**around, **mine})
                at = stop - 1
            return
    yield from ((start, line) for line in record_lines(value, around))


def of_columns(value: Any) -> Any:
    """Records whose fields are named beside them: CloudWatch Logs Insights, Azure Monitor."""
    if not isinstance(value, list):
        return value
    found: list[dict[str, Any]] = []
    for one in value:
        if isinstance(one, list):
            fields = {
                text_in(each.get("field")).lstrip("@"): each.get("value")
                for each in one
                if isinstance(each, dict)
            }
            at = fields.get("timestamp")
            if isinstance(at, str):
                fields["timestamp"] = f"{at} UTC"  # it prints no other
            found.append(fields)
        elif isinstance(one, dict) and isinstance(one.get("rows"), list):
            names = [text_in(each.get("name")) for each in one.get("columns") or () if each]
            found += [
                dict(zip(names, row, strict=False)) for row in one["rows"] if isinstance(row, list)
            ]
        else:
            return value
    return found


def record_lines(one: dict[str, Any], around: Record) -> Iterator[str]:
    """The lines that one object is."""
    kind = one.get("kind")
    if isinstance(one.get("stream"), dict) and isinstance(one.get("values"), list):
        for pair in one["values"]:
            if isinstance(pair, list) and len(pair) >= 2:
                row = {"timestamp": pair[0], "labels": one["stream"], "line": pair[1]}
                yield json.dumps(row, ensure_ascii=False)
    elif kind in ("Event", None) and ("involvedObject" in one or "regarding" in one):
        yield of_event(one)
    elif kind == "Node" and isinstance(one.get("status"), dict):
        yield from of_node(one)
    elif kind == "Pod" and isinstance(one.get("status"), dict):
        yield from of_pod(one)
    elif "EntryType" in one or ("MessageId" in one and "Message" in one and "Created" in one):
        yield of_redfish(one)
    else:
        extra = {k: v for k, v in around.items() if k in CONTEXT and k not in one}
        yield json.dumps({**one, **extra}, ensure_ascii=False)


# Of what stands around a list, the words that its records are of.
CONTEXT: Final = frozenset({"component", "hostname", "host", "node", "nodeName", "machine"})


def text_in(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def part(one: Record, *names: str) -> Any:
    for name in names:
        inner = one.get(name)
        one = inner if isinstance(inner, Mapping) else {}
    return one


def of_event(one: Record) -> str:
    """``Warning NodeNotReady node/gpu-17 Node is not ready``, with its time and its object."""
    about = part(one, "involvedObject") or part(one, "regarding")
    at = next(
        (
            text_in(one.get(name))
            for name in ("lastTimestamp", "eventTime", "deprecatedLastTimestamp", "firstTimestamp")
            if one.get(name)
        ),
        text_in(part(one, "metadata").get("creationTimestamp")),
    )
    name = f"{text_in(about.get('kind')).lower() or 'object'}/{text_in(about.get('name'))}"
    words = text_in(one.get("message")) or text_in(one.get("note"))
    host = text_in(part(one, "source").get("host")) or text_in(
        part(one, "deprecatedSource").get("host")
    )
    on = f" (on node/{host})" if host and not name.startswith("node/") else ""
    text = f"{one.get('type', '')} {one.get('reason', '')} {name} {words}{on}"
    return said(at, text_in(about.get("name")) if name.startswith(("node/", "pod/")) else "", text)


def said(at: str, of: str, text: str) -> str:
    """A line about a node or a pod: what names no node itself is about this one."""
    line = {"time": at, "node": of, "message": text}
    return json.dumps({key: value for key, value in line.items() if value}, ensure_ascii=False)


def of_node(one: Record) -> Iterator[str]:
    """What a node's object says of its state: conditions that are not as they should be, taints."""
    name = f"node/{text_in(part(one, 'metadata').get('name'))}"
    status = part(one, "status")
    for each in status.get("conditions") or ():
        if not isinstance(each, dict):
            continue
        kind, state = text_in(each.get("type")), text_in(each.get("status"))
        if state == ("True" if kind == "Ready" else "False"):
            continue
        words = f"{text_in(each.get('reason'))} {text_in(each.get('message'))}"
        at = text_in(each.get("lastTransitionTime"))
        if kind == "Ready":
            yield f"{at} Warning NodeNotReady {name} Node is not ready: {words}"
        elif state == "True":
            yield f"{at} {name} {kind}  True  {words}"
    for each in part(one, "spec").get("taints") or ():
        if isinstance(each, dict):
            key, value = text_in(each.get("key")), text_in(each.get("value"))
            effect = text_in(each.get("effect"))
            taint = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
            yield f"{text_in(each.get('timeAdded'))} {name} tainted {taint}"


def of_pod(one: Record) -> Iterator[str]:
    """Where a pod runs, and how it ended from outside."""
    name = text_in(part(one, "metadata").get("name"))
    node = text_in(part(one, "spec").get("nodeName"))
    status = part(one, "status")
    space = text_in(part(one, "metadata").get("namespace")) or "default"
    if node:
        at = text_in(status.get("startTime"))
        yield f"{at} Successfully assigned {space}/{name} to {node}"
    on = f" (on node/{node})" if node else ""
    if status.get("reason"):
        words = f"{text_in(status.get('reason'))} pod/{name} {text_in(status.get('message'))}"
        yield f"Warning {words}{on}"
    for each in status.get("conditions") or ():
        if isinstance(each, dict) and each.get("type") == "DisruptionTarget":
            at = text_in(each.get("lastTransitionTime"))
            words = f"{text_in(each.get('reason'))} {text_in(each.get('message'))}"
            yield f"{at} pod/{name} DisruptionTarget {each.get('status')} {words}{on}"


def of_redfish(one: Record) -> str:
    """A log entry of a controller, as a row of its event list."""
    args = [text_in(arg) for arg in one.get("MessageArgs") or () if isinstance(arg, str)]
    message = text_in(one.get("Message"))
    message = " ".join([message, *(arg for arg in args if arg and arg not in message)])
    ended = one.get("Resolved") is True or one.get("EntryCode") in ("Deassert", "Deasserted")
    return sel_row(
        text_in(one.get("Created")) or text_in(one.get("EventTimestamp")),
        text_in(one.get("SensorType")) or text_in(one.get("Name")),
        message,
        text_in(one.get("Severity")) or text_in(one.get("MessageSeverity")),
        ended=ended,
    )


# --- the lists of management controllers


def of_table(text: str) -> Iterator[tuple[int, str]]:
    """The rows of an event list that was saved as a table."""
    head, _, rest = text.partition("\n")
    columns = table_columns(head.lstrip("\ufeff"))
    if columns is None:
        return
    delimiter, index = columns
    offset = len(head) + 1
    for line in rest.split("\n"):
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
        cell = {
            what: cells[k].strip() if k is not None and k < len(cells) else ""
            for what, k in index.items()
        }
        if cell["words"]:
            row = sel_row(cell["time"], cell["sensor"], cell["words"], cell["severity"])
            yield offset, f"{cell['host']}: {row}" if cell["host"] else row
        offset += len(line) + 1


def table_columns(line: str) -> tuple[str, dict[str, int | None]] | None:
    """The columns of a controller's list by what they hold; None for any other first line."""
    delimiter = max(",;\t|", key=line.count)
    names = [one.strip().strip('"').strip().lower() for one in line.split(delimiter)]
    if not 3 <= len(names) <= 24 or len(line) > 1000:
        return None

    def of(known: tuple[str, ...]) -> int | None:
        return next((names.index(one) for one in known if one in names), None)

    index = {
        "time": of(TIME_COLUMNS),
        "words": of(WORD_COLUMNS),
        "sensor": of(SENSOR_COLUMNS),
        "severity": of(SEVERITY_COLUMNS),
        "host": of(HOST_COLUMNS),
    }
    told = index["sensor"] is not None or index["severity"] is not None
    if index["time"] is None or index["words"] is None or not told:
        return None
    # "Time,Level,Message" may head anything; a controller's list names sensors, classes or ids.
    if not {"sensor name", "sensor", "sensor type", "event id", "class", "fru", "entity"} & {
        *names
    }:
        return None
    return delimiter, index


KEY_VALUE: Final = re.compile(
    r"^[ \t]*([A-Za-z][\w /.-]{1,40}?)[ \t]*[:=][ \t]*(.*?)[ \t\r]*$", re.M
)


def of_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Records of several lines each, as ``racadm getsel`` and ``racadm lclog view`` print them."""
    starts = [found.start() for found in BLOCK.finditer(text)]
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        cell = {key.lower(): value for key, value in KEY_VALUE.findall(text[start:stop][:4000])}
        words = cell.get("description") or cell.get("message")
        at = cell.get("date/time") or cell.get("timestamp") or cell.get("time stamp") or ""
        if words:
            yield start, sel_row(at, cell.get("sensor", ""), words, cell.get("severity", ""))


US_DATE: Final = re.compile(
    r"(\d\d?)/(\d\d?)/(\d{4})[ ,T]{1,2}(\d\d?:\d\d)(:\d\d)?( ?[AP]M)?( [A-Z]{3,5}\b)?"
)
ISO_DATE: Final = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d)(:\d\d)?(?:[.,]\d{1,9})?"
    r"(Z| ?[+-]\d\d:?\d\d\b| [A-Z]{3,5}\b)?"
)
ENDED: Final = re.compile(
    r"\bde-?assert(?:ed|ion)?\b|\bis operating normally\b|\bhas returned to\b|"
    r"\bis restored\b|\bwas restored\b|\bcleared\b|\brepaired\b",
    re.IGNORECASE,
)
SENSOR_FIRST: Final = re.compile(r"(?P<sensor>[A-Z][\w ./#()-]{2,60}?): (?=\S)")


def sel_row(at: str, sensor: str, words: str, severity: str, *, ended: bool = False) -> str:
    """``1 | 03/14/2026 | 02:39:12 | Fan FAN4 | Lower Critical going low | Asserted | ...``.

    In the form of ``ipmitool sel elist``, with the severity behind it where the list has one.
    """
    first = SENSOR_FIRST.match(words)
    if first is not None and (not sensor or first["sensor"].lower().startswith(sensor.lower()[:8])):
        sensor, words = first["sensor"], words[first.end() :]
    if ended or ENDED.search(words):
        state = "Deasserted"
    else:
        state = "Asserted"
    words = re.sub(r" - (?:de)?assert(?:ed|ion)\b", "", words, flags=re.IGNORECASE)
    row = f"{when(at)} | {sensor.replace('|', '/')} | {words.replace('|', '/')} | {state}"
    return f"{row} | severity {severity.lower()}" if severity else row


def when(text: str) -> str:
    """A date as event lists print it: ``1 | 03/14/2026 | 02:39:12 UTC``."""
    found = US_DATE.search(text)
    if found is not None:
        month, day, year, minute, second, half, zone = found.groups()
        clock = f"{minute}{second or ':00'}{' ' + half.strip() if half else ''}{zone or ''}"
        return f"1 | {int(month):02d}/{int(day):02d}/{year} | {clock}"
    found = ISO_DATE.search(text)
    if found is not None:
        year, month, day, minute, second, zone = found.groups()
        shown = " UTC" if zone in ("Z", "+00:00", "+0000") else f" {zone.strip()}" if zone else ""
        return f"1 | {month}/{day}/{year} | {minute}{second or ':00'}{shown}"
    return "1 | Pre-Init | 0000000000"


JSON_DOCUMENT: Final = DocumentFormat("json_document", is_json_document, of_json)
BLOCK_LIST: Final = DocumentFormat("block_list", is_block_list, of_blocks)
EVENT_TABLE: Final = DocumentFormat("event_table", is_event_table, of_table)
DOCUMENTS: Final = (JSON_DOCUMENT, BLOCK_LIST, EVENT_TABLE)
