"""Lines inside other lines: JSON objects, container runtimes, agents of providers, file lists.

Also progress bars, which are redrawn in place and so end up with the next message
glued behind them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from triage.domain.evidence import Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs.record_fields import (
    Fields,
    Holds,
    compose_record,
    find_host,
    is_over,
    name_field,
    read_fields,
)
from triage.parsers.logs.stamps import make_epoch, read_time
from triage.parsers.logs.state import Envelope
from triage.signatures.program.process_names import Whose, classify_owner

_DECODER: Final = json.JSONDecoder(strict=False)
# What stands around the record that a store of logs or a desk gives back.
_AROUND: Final = ("_source", "result", "attributes", "fields", "incident")
_MOST_AROUND: Final = 3
# An object that holds none of these may be a setting: the host in it wrote nothing.
_OF_A_RECORD: Final = frozenset({Holds.WHEN, Holds.WHEN_PRINTED, Holds.MESSAGE, Holds.TITLE})
# Objects beside a message that say where it was written.
_PLACES: Final = (
    "labels", "stream", "resource", "kubernetes", "host", "agent", "source", "src", "origin",
)  # fmt: skip
# The texts of an object that is cut, or that is no proper JSON.
_CUT_FIELD: Final = compile_re(r'"([\w.@-]{1,60})"\s{0,8}:\s{0,8}"((?:[^"\\]|\\.)*)', re.DOTALL)
_MOST_CUT_FIELDS: Final = 64

# The end of a bar: its elapsed and remaining time, or its empty picture.
_BAR: Final = compile_re(
    r"\[(?:\d{1,3}:)?\d{1,2}:\d\d(?:<|, )[^\[\]]{0,300}\]|\d{1,3}%\|[^|\[\]]{0,300}\|(?=\[)"
)


def take_glued_bar(envelope: Envelope) -> bool:
    """Drop progress bars that stand before something else on the same line."""
    line, pos = envelope.text, envelope.pos
    if "%" not in line and "it" not in line and "/s" not in line:
        return False
    end = -1
    for found in _BAR.finditer(line, pos):
        end = found.end()
    if end < 0 or not line[end:].strip(" \t|\x00"):
        return False
    envelope.pos = end
    return True


def get_text(value: Any) -> str | None:
    """A message as text: the journal prints bytes that are no UTF-8 as a list of numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(type(one) is int for one in value[:65536]):
        return bytes(one & 0xFF for one in value[:65536]).decode("utf-8", "replace")
    return None


def _number(value: Any) -> int | None:
    """A small whole number, printed as one or as text."""
    if isinstance(value, str) and 0 < len(value) <= 8 and value.isdecimal():
        return int(value)
    return value if type(value) is int and 0 <= value < 10_000_000 else None


def parse_json_time(value: Any) -> Stamp | None:
    """A time as records print it: text, or a number since 1970."""
    if isinstance(value, str):
        if value.isdecimal() and value.isascii() and 10 <= len(value) <= 19:
            return make_epoch(int(value))
        return read_time(value)
    return make_epoch(value) if isinstance(value, int | float) and value is not True else None


def take_json(envelope: Envelope, _match: "re.Match[str]") -> bool:
    """Take the message out of an object, and beside it whatever says when and where."""
    line = envelope.text
    try:
        value, end = _DECODER.raw_decode(line, envelope.pos)
    except (ValueError, RecursionError):
        return _cut_json(envelope)
    if not isinstance(value, dict) or line[end:].strip(" \t\r\n,]"):
        return False
    if _TYPED in line:
        value = _drop_types(value)
    whole = value
    outer = fields = read_fields(value)
    for _ in range(_MOST_AROUND):
        inner = next(_iterate_inner_records(value, fields), None)
        if inner is not None or not _OF_A_RECORD.isdisjoint(fields):
            _take_object_fields(envelope, value, fields)
        if inner is None:
            break
        value, fields = inner, read_fields(inner)
    if is_over(outer) or is_over(fields):
        _replace(envelope, "")
        return True
    message = next((get_text(one) for one in fields.get(Holds.MESSAGE, ())), None)
    within = _list_inner_messages(whole)
    plain = compose_record(fields, message) or next(iter(within), None)
    if plain is None:
        return False  # its other fields are its words
    gpu = _describe_gpu(line[envelope.pos : end], plain)
    inside = "".join(f"\n{one}" for one in within if one.partition(_NODE_OF)[0] not in plain)
    about = _describe_object(value)
    place = _describe_place(about, value)
    text = about + plain + gpu + place + _get_exception(fields, plain) + inside
    _replace(envelope, "" if value.get("isHealthy") is True else text)
    return True


def _iterate_inner_records(value: Mapping[str, Any], fields: Fields) -> Iterator[dict[str, Any]]:
    """The record in an object that holds one in the place of its message, or around it."""
    said = fields.get(Holds.MESSAGE)
    around = said[:1] if said else [value.get(name) for name in _AROUND]
    return (one for one in around if isinstance(one, dict))


_TYPED: Final = '"stringValue"'
_TYPES: Final = frozenset({"stringValue", "intValue", "doubleValue", "boolValue"})


def _drop_types(value: Any) -> Any:
    """A record of OpenTelemetry with plain values: of ``{"stringValue": "x"}`` the text, and of
    a list of keys and values an object.
    """
    if isinstance(value, dict):
        if len(value) == 1 and not _TYPES.isdisjoint(value):
            return next(iter(value.values()))
        return {key: _drop_types(one) for key, one in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(one, dict) and {"key", "value"} <= one.keys() for one in value):
            return {str(one["key"]): _drop_types(one["value"]) for one in value}
        return [_drop_types(one) for one in value]
    return value


def _get_exception(fields: Fields, said: str) -> str:
    """The traceback or the error of an object behind a line end, empty where it has none but what
    is ``said``.
    """
    for found in fields.get(Holds.RAISED, ()):
        if isinstance(found, dict):
            found = found.get("stack_trace") or found.get("stack") or found.get("message")
        if isinstance(found, str) and ("\n" in found or " " in found) and found not in said:
            return f"\n{found}"
    return ""


# Events that an agent wraps into a record of its own lie no deeper, and are no more.
_MOST_DEPTH: Final = 3
_MOST_INNER: Final = 8
_NODE_OF: Final = " (node "


def _list_inner_messages(value: Any, depth: int = 0) -> list[str]:
    """The messages of the objects that lie in an object, such as events that it forwards, each with
    the node that it is of.
    """
    if depth > _MOST_DEPTH:
        return []
    if isinstance(value, dict):
        value = [one for key, one in value.items() if not _is_no_event(key)]
    found = []
    for one in value:
        if isinstance(one, dict):
            fields = read_fields(one)
            texts = (*fields.get(Holds.MESSAGE, ()), *fields.get(Holds.DETAIL, ()))
            said = next((text for text in texts if isinstance(text, str)), None)
            node = find_host(fields)
            of = "" if node is None else f"{_NODE_OF}{node})"
            found += [] if said is None else [said + of]
        if isinstance(one, dict | list) and len(found) < _MOST_INNER:
            found += _list_inner_messages(one, depth + 1)
    return found[:_MOST_INNER]


def _is_no_event(name: str) -> bool:
    """Whether a field holds no event, but an error or the place of one."""
    return name in _PLACES or any(holds is Holds.RAISED for holds, _ in name_field(name))


_LABEL: Final = compile_re(r'"?([\w./-]{1,80})"?\s{0,4}[:=]\s{0,4}"([^"]{0,300})"')
_UNITS: Final = ("unit", "systemd_unit", "syslog_identifier", "app", "service_name", "container")


def take_labels(envelope: Envelope, match: "re.Match[str]") -> bool:
    """Take who wrote a line from the labels that a store of logs prints before it."""
    labels = dict(_LABEL.findall(match["json"] or match["logfmt"]))
    fields = read_fields(labels)
    if find_host(fields) is None and Holds.PROGRAM not in fields and not labels.keys() & {*_UNITS}:
        return False
    envelope.pos = match.end()
    _take_object_fields(envelope, labels, fields)
    unit = next((labels[name] for name in _UNITS if labels.get(name)), None)
    if unit is not None and not envelope.kernel:
        envelope.said_by(unit.removesuffix(".service")[:80])
    return True


_PAIR: Final = compile_re(
    r'([A-Za-z_][\w.@/-]{0,59})=(?:"((?:[^"\\]|\\.){0,4000})"|([^\s"=]{0,300}))(?:\s+|$)'
)
_LEAST_PAIRS: Final = 3


def take_pairs(envelope: Envelope, _match: "re.Match[str]") -> bool:
    """Take the time, the host and the message out of a line that is nothing but pairs."""
    line, at = envelope.text, envelope.pos
    found: list[tuple[str, str]] = []
    while (pair := _PAIR.match(line, at)) is not None:
        found.append((pair[1], pair[3] if pair[2] is None else _unescape(pair[2])))
        at = pair.end()
    record = dict(found)
    fields = read_fields(record)
    if at < len(line) or len(found) < _LEAST_PAIRS or _read_object_time(fields) is None:
        return False
    _take_object_fields(envelope, record, fields)
    message = next((text for text in fields.get(Holds.MESSAGE, ()) if " " in text), None)
    if message is not None:
        _replace(envelope, compose_record(fields, message) or message)
    return message is not None


# "PCI:0018:01:00.0", "GPU-d25ffa9f-3b3d-169f-3ddc-e8ce927d15cf"
_GPU_NAME: Final = compile_re(
    r"\b(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{8}):[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.0)?\b"
    r"|\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)


def _describe_gpu(whole: str, said: str) -> str:
    """`` (GPU 0018:01:00.0)``: the one GPU that an object names beside words that name none."""
    if _GPU_WORDS.search(said) is None or _GPU_NAME.search(said) is not None:
        return ""
    found = {one for one in _GPU_NAME.findall(whole) if not one.startswith("GPU-")}
    found = found or set(_GPU_NAME.findall(whole))
    return f" (GPU {found.pop()})" if len(found) == 1 else ""


_GPU_WORDS: Final = compile_re(r"\bGPUs?\b|\bXid\b|\bNVLink\b|\bECC\b", re.IGNORECASE)


def _describe_object(value: dict[str, Any]) -> str:
    """``NodeNotReady node/gpu-17 `` of an event whose exporter puts the object beside the words,
    and what a sensor is of.
    """
    sensor = value.get("SensorType")  # of an entry of a Redfish log
    if isinstance(sensor, str) and 0 < len(sensor) <= 80:
        return f"{sensor}: "
    about = value.get("involvedObject")
    named = about if isinstance(about, dict) else value
    kind, name, reason = named.get("kind"), named.get("name"), value.get("reason")
    if not (isinstance(kind, str) and isinstance(name, str) and isinstance(reason, str)):
        return ""
    known = kind.lower() in ("pod", "node") and name and " " not in name
    return f"{reason} {kind.lower()}/{name} " if known else ""


def _describe_place(about: str, value: dict[str, Any]) -> str:
    """`` (on node/gpu-17)``: where the pod of an event runs, by who sent the event."""
    source = value.get("source")
    host = source.get("host") if isinstance(source, dict) else None
    return f" (on node/{host})" if " pod/" in about and isinstance(host, str) and host else ""


def _take_object_fields(envelope: Envelope, value: Mapping[str, Any], fields: Fields) -> None:
    realtime = _number_text(value.get("__REALTIME_TIMESTAMP"))
    if realtime is not None:
        envelope.clock(make_epoch(realtime))
        up = _number_text(
            value.get("_SOURCE_MONOTONIC_TIMESTAMP", value.get("__MONOTONIC_TIMESTAMP"))
        )
        if up is not None:
            envelope.clock(Stamp(uptime_ns=up * 1000, error_ns=1000))
    envelope.clock(_read_object_time(fields))
    _take_writer(envelope, fields)
    for key in _PLACES:
        inner = value.get(key)
        if isinstance(inner, dict):
            labels, name = inner.get("labels") or inner.get("attributes"), inner.get("node")
            if name is None and key == "host":
                name = inner.get("name")  # a host's own name is the host's
            facts = labels if isinstance(labels, dict) else {}
            _take_writer(envelope, read_fields({**inner, **facts, "node": name}))
    stream = value.get("_stream")  # of VictoriaLogs: {app="kernel",hostname="gpu-17"}
    if isinstance(stream, str):
        _take_writer(envelope, read_fields(dict(_LABEL.findall(stream))))
    if not envelope.kernel and isinstance(value.get("SYSLOG_IDENTIFIER"), str):
        envelope.program = envelope.program or value["SYSLOG_IDENTIFIER"][:80]
    for name, keys in (
        ("rank", ("rank", "global_rank")),
        ("local_rank", ("local_rank",)),
        ("pid", ("pid", "_PID")),
    ):
        found = next((n for n in (_number(value.get(key)) for key in keys) if n is not None), None)
        if found is not None and getattr(envelope, name) is None:
            setattr(envelope, name, found)


def _read_object_time(fields: Fields) -> Stamp | None:
    """When an object was written."""
    printed = (
        one
        for one in fields.get(Holds.WHEN_PRINTED, ())
        if isinstance(one, str) and not one.isdecimal()
    )
    times = map(parse_json_time, (*fields.get(Holds.WHEN, ()), *printed))
    return next((stamp for stamp in times if stamp is not None), None)


def _take_writer(envelope: Envelope, fields: Fields) -> None:
    """The host that an object names, and whether a kernel wrote."""
    envelope.host(find_host(fields))
    programs = fields.get(Holds.PROGRAM, ())
    if any(one in ("kernel", "kern") for one in programs):
        envelope.kernel = True
    if envelope.kernel:
        return
    for unit in programs:
        if isinstance(unit, str) and classify_owner(unit) is Whose.SERVICE:
            envelope.program = envelope.program or unit.removesuffix(".service")[:80]


def _number_text(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _replace(envelope: Envelope, text: str) -> None:
    envelope.text = text.rstrip("\r\n")
    envelope.pos = 0


def _unescape(text: str) -> str:
    try:
        plain = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return str(plain)


def _cut_json(envelope: Envelope) -> bool:
    """The message of an object that is cut, or that is no proper JSON."""
    found = islice(_CUT_FIELD.finditer(envelope.text, envelope.pos), _MOST_CUT_FIELDS)
    fields = read_fields({one[1]: _unescape(one[2]) for one in found})
    if Holds.MESSAGE not in fields:
        return False
    envelope.clock(_read_object_time(fields))
    envelope.host(find_host(fields))
    _replace(envelope, fields[Holds.MESSAGE][0])
    return True


def take_quoted(envelope: Envelope, _match: "re.Match[str]") -> bool:
    """One row of an object that is printed over several lines."""
    found = _CUT_FIELD.match(envelope.text, envelope.pos)
    if found is None:
        return False
    _replace(envelope, _unescape(found[2]))
    return True
