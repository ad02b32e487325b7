"""Lists of records that tools print as one JSON document.

``kubectl get events -o json``, a Redfish collection, alerts of Alertmanager, and answers of Loki,
CloudWatch, Elasticsearch and Azure Monitor; of any other name a list whose members say something,
such as the messages of a chat or the incidents of a desk. Each record stays as it is, on one line:
one that has a time, or a message with its level or its place. What has neither is the result of
some tool, a catalogue or a page of advice: it quotes lines of logs, and is none.

::

    {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Event", "reason": "Evicted", ...}]}
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from triage.domain.patterns import compile_re
from triage.formats.logs.alerts import compose_alert, iterate_node_labels, keep_texts
from triage.formats.logs.controller_lists import format_event_row
from triage.formats.logs.documents import DocumentFormat, format_line_about
from triage.formats.logs.pod_description import describe_end
from triage.parsers.logs.record_fields import (
    TIMES,
    WORDS,
    Fields,
    Holds,
    is_over,
    join_texts,
    list_values,
    name_field,
    read_fields,
    sort_fields,
)
from triage.signatures.scheduler.node_names import SHOULD_HOLD

# The members of a document that are its records, whatever stands in them.
_LISTS: Final = (
    "items", "Members", "events", "entries", "records", "Events", "LogEntries", "logEvents", "hits",
    "result", "results", "tables", "alerts",
)  # fmt: skip
_DECODER: Final = json.JSONDecoder(strict=False)
_SPACE: Final = compile_re(r"[\s,]*")
_OPENS: Final = compile_re(
    r"\s*(?:\{\s*\n|\[\s*\n|\[\s*\{|\{\s*\"(?:apiVersion|@odata)[^\n]{0,200}\n?"
    # Loki, CloudWatch, Elasticsearch and Azure Monitor answer on one line.
    r"|\{\s*\"(?:status|data|events|logEvents|messageType|owner|took|hits|results|tables|searched\w*"
    r"|nextToken|receiver|alerts|version)\"\s*:)"
)
# A time of day, a day, or seconds since 1970; "time": 600 may be how long something took.
_TIME: Final = compile_re(r"\d\d:\d\d|\d{4}[-/]\d\d|^\d{9,19}(?:\.\d{1,9})?$")
_LEAST_TIME: Final = 100_000_000
# What people add below a record, which has words of its own.
_THREADS: Final = frozenset({"notes", "comments", "updates", "log_entries", "work_notes"})
# What tells whose the words of a record are, by what it is and by its name.
_WHOSE: Final = frozenset({Holds.GRADE, Holds.HOST, Holds.PROGRAM, Holds.PART, Holds.RAISED})
_WHOSE_NAMES: Final = frozenset({"logger", "name", "rank", "pid", "stream", "labels"})
# A record keeps its time at most so deep: Elasticsearch's `_source`, a header beside the body.
_DEEP: Final = 3

_Record = Mapping[str, Any]


def _is_json_document(text: str) -> bool:
    """Whether JSON begins that is no log of one value a line."""
    if not text.startswith(("{", "[")):
        return False
    return (_OPENS.match(text) is not None and not _is_json_line(text)) or _is_lone_result(text)


def _is_lone_result(text: str) -> bool:
    """Whether the file is one object on one line that is no record: a log has others like it."""
    first, _, behind = text.partition("\n")
    if not first.startswith("{") or behind.strip():
        return False
    try:
        value, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        return False
    is_other = isinstance(value, dict) and not first[end:].strip()
    return is_other and (_has_list(value) or not _is_record(value))


def _is_json_line(text: str) -> bool:
    """Whether the first line is a whole value by itself, and no list of records."""
    first = text.partition("\n")[0]
    try:
        value, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, list):
        return not any(isinstance(one, dict) for one in value)
    if first[end:].strip():
        return False
    return not _has_list(value)


def _is_record(value: _Record, deep: int = _DEEP, *, dated: bool = False) -> bool:
    """Whether an object may be a line of a log: it says when, or whose its words are, which is
    not enough for one that has to be ``dated``.
    """
    value = dict(islice(value.items(), _MOST_KEYS))
    fields = read_fields(value)
    is_owned = not _WHOSE.isdisjoint(fields) or not _WHOSE_NAMES.isdisjoint(value)
    if not dated and list_values(fields, Holds.MESSAGE, Holds.EVENT) and is_owned:
        return True
    inner = (one for one in value.values() if isinstance(one, Mapping)) if deep > 1 else ()
    return any(map(_is_time, list_values(fields, *TIMES))) or any(
        _is_record(one, deep - 1, dated=dated) for one in inner
    )


_MOST_KEYS: Final = 64


def _is_time(value: object) -> bool:
    """Whether a value may be a time."""
    if isinstance(value, str):
        return _TIME.search(value[:100]) is not None
    return isinstance(value, int | float) and value > _LEAST_TIME


def _has_list(value: Any, deep: int = _DEEP) -> TypeGuard[dict[str, Any]]:
    """Whether an object holds a list of records."""
    if not isinstance(value, dict):
        return False
    return any(isinstance(value.get(one), list) for one in _LISTS) or any(
        True for _ in _iterate_lists_of_any_name(value, deep)
    )


def _iterate_lists_of_any_name(value: _Record, deep: int = _DEEP) -> Iterator[str]:
    """The members of an object, which says nothing itself, that hold lists of what was said when;
    an object of Kubernetes is read as what it is.
    """
    if not deep or "kind" in value or _is_telling(value):
        return
    for name, inner in list(value.items())[:_MOST_KEYS]:
        if isinstance(inner, dict):
            holds = _has_list(inner, deep - 1)
        elif isinstance(inner, list) and all(isinstance(one, dict) for one in inner):
            members = inner[:_MOST_KEYS]
            told = sum(_is_telling(one) or _has_list(one, deep - 1) for one in members)
            holds = 2 * told > len(members)
        else:
            continue
        if holds:
            yield name


def _is_telling(one: _Record, deep: int = _DEEP) -> bool:
    """Whether an object says something, and when."""
    return _is_record(one, deep, dated=True) and _has_words(one, deep)


def _has_words(one: _Record, deep: int) -> bool:
    """Whether a message, a title or a description stands in an object."""
    inner = (each for each in one.values() if isinstance(each, Mapping)) if deep > 1 else ()
    return bool(list_values(read_fields(one), *WORDS)) or any(
        _has_words(each, deep - 1) for each in inner
    )


def _iterate_json_records(text: str) -> Iterator[tuple[int, str]]:
    """Each record of lists and of values one behind the other."""
    at = _SPACE.match(text, 0).end()  # type: ignore[union-attr]
    while at < len(text):
        if text[at] == "[":
            at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
            continue
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            inner = text.find("{", at + 1)
            if inner < 0:
                return
            at = inner
            continue
        if isinstance(value, dict):
            yield from _iterate_value_records(text, at, end, value, {})
        at = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        while at < len(text) and text[at] in "]}":
            at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]


def _iterate_value_records(
    text: str, start: int, end: int, value: dict[str, Any], around: _Record
) -> Iterator[tuple[int, str]]:
    """The records in one object: its members, else itself."""
    others = {*_iterate_lists_of_any_name(value)}
    others |= {
        name
        for name, one in value.items()
        if isinstance(one, dict) and not _THREADS.isdisjoint(one)
    }
    mine = {**around, **{k: v for k, v in value.items() if isinstance(v, str | int | float)}}
    is_read = False
    threads = _THREADS & {name for name, one in value.items() if isinstance(one, list)}
    for name, whole in value.items():
        if name not in others | threads and not (name in _LISTS and isinstance(whole, list)):
            continue
        members = _convert_column_records(whole) if name in ("results", "tables") else whole
        direct = members is whole
        begin = re.compile(rf'"{re.escape(name)}"\s*:\s*[\[{{]').search(text, start, end)
        at = start if begin is None else begin.end() - 1
        if isinstance(members, dict):
            is_read = True
            yield from _iterate_value_records(text, at, end, members, mine)
        elif members and all(isinstance(one, dict) for one in members):
            is_read = True
            if not direct or any("stream" in one for one in members):
                for one in members:  # they are no objects in the text
                    yield from ((start, line) for line in iterate_object_lines(one, mine))
                continue
            for one in members:
                at = text.find("{", at + 1, end)
                stop = at
                if at >= 0:
                    try:
                        _, stop = _DECODER.raw_decode(text, at)
                    except (ValueError, RecursionError):
                        return
                yield from _iterate_value_records(text, at, stop, one, mine)
                at = stop - 1
    if not is_read or threads:
        own = {name: one for name, one in value.items() if name not in threads}
        yield from ((start, line) for line in [*iterate_object_lines(own, around)] or [""])


def _convert_column_records(value: Any) -> Any:
    """Records whose fields are named beside them: CloudWatch Logs Insights, Azure Monitor."""
    if not isinstance(value, list):
        return value
    found: list[dict[str, Any]] = []
    for one in value:
        if isinstance(one, list):
            fields = {
                _normalize_text(each.get("field")).lstrip("@"): each.get("value")
                for each in one
                if isinstance(each, dict)
            }
            at = fields.get("timestamp")
            if isinstance(at, str):
                fields["timestamp"] = f"{at} UTC"  # it prints no other
            found.append(fields)
        elif isinstance(one, dict) and isinstance(one.get("rows"), list):
            columns = [each for each in _list_in(one, "columns") if isinstance(each, dict)]
            names = [_normalize_text(each.get("name")) for each in columns]
            found += [
                dict(zip(names, row, strict=False)) for row in one["rows"] if isinstance(row, list)
            ]
        else:
            return value
    return found


def iterate_object_lines(
    one: dict[str, Any], around: _Record = MappingProxyType({})
) -> Iterator[str]:
    """The lines that one object is."""
    kind = one.get("kind")
    if isinstance(one.get("stream"), dict) and isinstance(one.get("values"), list):
        for pair in one["values"]:
            if isinstance(pair, list) and len(pair) >= 2:
                row = {"timestamp": pair[0], "labels": one["stream"], "line": pair[1]}
                yield json.dumps(row, ensure_ascii=False)
    elif kind in ("Event", None) and ("involvedObject" in one or "regarding" in one):
        yield _format_kubernetes_event(one)
    elif kind == "Node" and isinstance(one.get("status"), dict):
        yield from _iterate_node_lines(one)
    elif kind == "Pod" and isinstance(one.get("status"), dict):
        yield from _iterate_pod_lines(one)
    elif "EventType" in one and isinstance(one.get("Resources"), list):
        # Azure's scheduled events name the machines that they are of.
        at = _normalize_text(one.get("NotBefore"))
        words = f'"EventType": "{one["EventType"]}" {_normalize_text(one.get("Description"))}'
        for name in one["Resources"]:
            yield format_line_about(at, _normalize_text(name), words)
    elif "startsAt" in one and isinstance(one.get("labels"), dict):
        yield _format_alert(one)
    elif "EntryType" in one or ("MessageId" in one and not _WHEN_MADE.isdisjoint(one)):
        yield _format_redfish_row(one, around)
    elif notices := _list_notice_lines(one):
        yield from notices
    else:
        extra = {k: v for k, v in around.items() if _is_context(k) and k not in one}
        whole = {**one, **extra}
        yield json.dumps(whole, ensure_ascii=False) if _is_record(whole) else ""


_MOST_LEAVES: Final = 256


def _list_notice_lines(one: _Record) -> list[str]:
    """A line for each machine that a notice names in a list or an object inside it; none where it
    names none there: what has its host beside its words is a line as it stands.
    """
    inside = _read_leaves({name: each for name, each in one.items() if not isinstance(each, str)})
    names = list_values(inside, Holds.MACHINES, Holds.HOST)
    links = (name.rstrip("/").rpartition("/")[2] for name in names)
    hosts = dict.fromkeys(link for link in links if _HOST_NAME.fullmatch(link))
    if not hosts or is_over(read_fields(one)):
        return []
    fields = _read_leaves(one)
    told = list_values(fields, Holds.TITLE, Holds.MESSAGE, Holds.DETAIL)
    at = next(iter(list_values(fields, *TIMES)), "")
    if not (told and at):
        return []
    said = join_texts(map(_normalize_text, told))
    return [
        format_line_about(at, host, said if host in said else f"{host}: {said}") for host in hosts
    ]


def _read_leaves(value: Any) -> Fields:
    """What the texts in an object hold, at any depth."""
    return sort_fields(islice(_iterate_leaves(value), _MOST_LEAVES))


def _iterate_leaves(value: Any, name: str = "", deep: int = 6) -> Iterator[tuple[str, str]]:
    """(name, text) of each text in an object, those of a list by the list's name."""
    if isinstance(value, str):
        yield name, value
    elif deep and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _iterate_leaves(each, key, deep - 1)
    elif deep and isinstance(value, list):
        for each in value:
            yield from _iterate_leaves(each, name, deep - 1)


# When an entry of a log, or an event that a controller sends, was made.
_WHEN_MADE: Final = frozenset({"Created", "EventTimestamp"})
_HOST_NAME: Final = compile_re(r"[A-Za-z][\w.-]{1,127}")


def _is_context(name: str) -> bool:
    """Whether what stands around a list tells by this name what its records are of."""
    return any(holds in (Holds.HOST, Holds.PART) for holds, _ in name_field(name))


def _normalize_text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _get_nested_part(one: _Record, *names: str) -> Any:
    for name in names:
        inner = one.get(name)
        one = inner if isinstance(inner, Mapping) else {}
    return one


def _format_kubernetes_event(one: _Record) -> str:
    """``Warning NodeNotReady node/gpu-17 Node is not ready``, with its time and its object."""
    about = _get_nested_part(one, "involvedObject") or _get_nested_part(one, "regarding")
    at = next(
        (
            _normalize_text(one.get(name))
            for name in ("lastTimestamp", "eventTime", "deprecatedLastTimestamp", "firstTimestamp")
            if one.get(name)
        ),
        _normalize_text(_get_nested_part(one, "metadata").get("creationTimestamp")),
    )
    kind = _normalize_text(about.get("kind")).lower() or "object"
    name = f"{kind}/{_normalize_text(about.get('name'))}"
    words = _normalize_text(one.get("message")) or _normalize_text(one.get("note"))
    host = _normalize_text(_get_nested_part(one, "source").get("host")) or _normalize_text(
        _get_nested_part(one, "deprecatedSource").get("host")
    )
    on = f" (on node/{host})" if host and not name.startswith("node/") else ""
    text = f"{one.get('type', '')} {one.get('reason', '')} {name} {words}{on}"
    return format_line_about(
        at, _normalize_text(about.get("name")) if name.startswith(("node/", "pod/")) else "", text
    )


def _format_alert(one: _Record) -> str:
    """An alert of Prometheus, as Alertmanager and Grafana keep and send it; nothing of one that is
    over.
    """
    status = one.get("status")
    state = status.get("state") if isinstance(status, Mapping) else status
    if state == "resolved":
        return ""
    labels = keep_texts(one.get("labels"))
    node = next(iterate_node_labels(labels), "")
    words = compose_alert(labels, keep_texts(one.get("annotations")))
    return format_line_about(_normalize_text(one.get("startsAt")), node, words)


_SHOULD_HOLD: Final = compile_re(rf"{SHOULD_HOLD}$")


def _iterate_node_lines(one: _Record) -> Iterator[str]:
    """What a node's object says of its state: conditions that are not as they should be, taints."""
    node = _normalize_text(_get_nested_part(one, "metadata").get("name"))
    name = f"node/{node}" if node else "node"
    status = _get_nested_part(one, "status")
    for each in _list_in(status, "conditions"):
        if not isinstance(each, dict):
            continue
        kind, state = _normalize_text(each.get("type")), _normalize_text(each.get("status"))
        good = "True" if _SHOULD_HOLD.search(kind) else "False"
        if state == good:
            continue
        words = f"{_normalize_text(each.get('reason'))} {_normalize_text(each.get('message'))}"
        at = _normalize_text(each.get("lastTransitionTime"))
        if kind == "Ready":
            yield f"{at} Warning NodeNotReady {name} Node is not ready: {words}"
        elif state in ("True", "False"):
            yield format_line_about(at, node, f"{name} {kind}  {state}  {words}")
    for each in _list_in(_get_nested_part(one, "spec"), "taints"):
        if isinstance(each, dict):
            key, value = _normalize_text(each.get("key")), _normalize_text(each.get("value"))
            effect = _normalize_text(each.get("effect"))
            taint = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
            yield f"{_normalize_text(each.get('timeAdded'))} {name} tainted {taint}"


def _iterate_pod_lines(one: _Record) -> Iterator[str]:
    """Where a pod runs, and how it ended from outside."""
    name = _normalize_text(_get_nested_part(one, "metadata").get("name"))
    node = _normalize_text(_get_nested_part(one, "spec").get("nodeName"))
    status = _get_nested_part(one, "status")
    space = _normalize_text(_get_nested_part(one, "metadata").get("namespace")) or "default"
    if node:
        at = _normalize_text(status.get("startTime"))
        yield f"{at} Successfully assigned {space}/{name} to {node}"
    on = f" (on node/{node})" if node else ""
    if status.get("reason"):
        words = (
            f"{_normalize_text(status.get('reason'))} pod/{name}"
            f" {_normalize_text(status.get('message'))}"
        )
        yield f"Warning {words}{on}"
    for each in _list_in(status, "containerStatuses"):
        for state in ("lastState", "state"):
            ended = _get_nested_part(each, state, "terminated") if isinstance(each, dict) else {}
            if ended and ended.get("exitCode") != 0:
                end = {
                    "Reason": _normalize_text(ended.get("reason")) or "unknown",
                    "Exit Code": str(ended.get("exitCode", ""))[:20],
                    "Finished": _normalize_text(ended.get("finishedAt")),
                }
                yield describe_end(name, _normalize_text(each.get("name")), node, end)
    for each in _list_in(status, "conditions"):
        if isinstance(each, dict) and each.get("type") == "DisruptionTarget":
            at = _normalize_text(each.get("lastTransitionTime"))
            words = f"{_normalize_text(each.get('reason'))} {_normalize_text(each.get('message'))}"
            yield f"{at} pod/{name} DisruptionTarget {each.get('status')} {words}{on}"


def _list_in(one: _Record, key: str) -> list[Any]:
    """The list at ``key``, empty where something else stands there."""
    found = one.get(key)
    return found if isinstance(found, list) else []


def _format_redfish_row(one: _Record, around: _Record) -> str:
    """A log entry of a controller, as a row of its event list, of the system that it or what stands
    ``around`` it names.
    """
    names = map(_normalize_text, read_fields({**around, **one}).get(Holds.HOST, ()))
    host = next((name for name in names if _HOST_NAME.fullmatch(name)), "")
    args = [_normalize_text(arg) for arg in _list_in(one, "MessageArgs") if isinstance(arg, str)]
    message = _normalize_text(one.get("Message"))
    message = " ".join([message, *(arg for arg in args if arg and arg not in message)])
    origin = _get_nested_part(one, "OriginOfCondition") or _get_nested_part(
        one, "Links", "OriginOfCondition"
    )
    of = _normalize_text(origin.get("@odata.id")).rstrip("/").rpartition("/")[2]
    ended = one.get("Resolved") is True or one.get("EntryCode") in ("Deassert", "Deasserted")
    row = format_event_row(
        _normalize_text(one.get("Created")) or _normalize_text(one.get("EventTimestamp")),
        _normalize_text(one.get("SensorType")) or _normalize_text(one.get("Name")) or of,
        message,
        _normalize_text(one.get("Severity")) or _normalize_text(one.get("MessageSeverity")),
        ended=ended,
    )
    return f"{host}: {row}" if host else row


# Objects of Kubernetes, and entries of a controller's event log; their times have zones.
_OF_MACHINES: Final = compile_re(
    r'"kind"\s{0,20}:\s{0,20}"(?:Event|Node)"|"@odata\.type"\s{0,20}:\s{0,20}"#(?:LogEntry|Event\b)'
    r'|"EntryType"\s{0,20}:|"startsAt"\s{0,20}:'
)
# What may stand in an answer of a store of logs, whatever its lines quote.
_OF_STORES: Final = compile_re(r'"(?:stream|hits|logEvents|resultType|tables)"\s{0,20}:')


def is_of_machines(text: str) -> bool:
    """Whether tools say in it what they see of machines: no job printed a word of it."""
    return _OF_MACHINES.search(text) is not None and _OF_STORES.search(text) is None


# Whose words the messages of a chat or the comments of a desk are.
_AUTHORS: Final = compile_re(
    r'"(?:from|user|user_?name|author|sender|posted_by|commenter|real_name)"\s{0,20}:'
)


def _is_by_people(text: str) -> bool:
    """Whether people wrote the records."""
    return _AUTHORS.search(text) is not None and not is_of_machines(text)


JSON_DOCUMENT: Final = DocumentFormat(
    "json_document",
    _is_json_document,
    _iterate_json_records,
    is_of_machines,
    _is_by_people,
)
