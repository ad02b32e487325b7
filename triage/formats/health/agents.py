"""What agents of a node and suites of checks report, where ``agents.toml`` alone cannot say it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.own_events import is_own_event
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import (
    Complaint,
    classify_complaint,
    classify_plain_words,
    find_category,
    format_gpu_part,
)
from triage.formats.health.reading import (
    BAD,
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    check_name,
    find_text,
    iterate_documents,
    iterate_items,
    parse_zoned_time,
)
from triage.formats.health.table import load_data

_Json = Mapping[str, Any]
_DATA: Final = load_data(__name__)
_MAX_NODE: Final = 256


# NVSentinel's health events: bare, as CloudEvents, in lists, or one a line. A healthy event clears
# what was told before, and accuses nobody. What is not fatal warns. An event of our own that comes
# back is listed as skipped: it is our conclusion, and no evidence.

# What stands around events: CloudEvents, answers of its database and of its API, its own log.
_AROUND: Final = (
    "data", "event", "healthEvent", "healthevent", "HealthEvent", "events", "items", "healthEvents"
)  # fmt: skip
_MAX_DEPTH: Final = 6
# Actions by number, where a program prints no name of them.
_NO_ACTION: Final = frozenset({"NONE", "0"})
_GPU_ENTITIES: Final = ("PCI", "GPU_UUID", "GPU")
# The class of the component, where the words name no part.
_COMPONENTS: Final = {name: Category(part) for name, part in _DATA["components"].items()}


def read_nvsentinel(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        for event in _iterate_health_events(document, 0):
            if reading.full:
                return
            _read_event(event, reading)


def _iterate_health_events(value: object, depth: int) -> Iterator[_Json]:
    """The health events in a document, in their order."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _iterate_health_events(item, depth + 1)
    elif isinstance(value, Mapping):
        if "checkName" in value and ("isHealthy" in value or "isFatal" in value):
            yield value
            return
        for name in _AROUND:
            if name in value:
                yield from _iterate_health_events(value[name], depth + 1)


def _read_event(event: _Json, reading: Reading) -> None:
    """One event: a result for each GPU that it names, else one of the node."""
    codes = event.get("errorCode")
    listed = codes if isinstance(codes, list) else [codes]
    numbers = tuple(str(code)[:64] for code in listed[:8] if isinstance(code, str | int))
    message, name, action = (
        find_text(event, key) for key in ("message", "checkName", "recommendedAction")
    )
    complaint = classify_complaint(f"{message} {name}", numbers)
    outcome = WARN
    if is_own_event(event):
        outcome = SKIPPED
    elif event.get("isHealthy") is True:
        outcome = PASS
    elif event.get("isFatal") is True and action.upper() not in _NO_ACTION:
        outcome = WARN if complaint.follows else FAIL
    said = (" ".join(numbers), message, f"recommended action {action}" if action else "")
    detail = "; ".join(one for one in said if one)
    category = complaint.category or _COMPONENTS.get(find_text(event, "componentClass").lower())
    for part in _list_event_gpus(event) or [complaint.gpu]:
        reading.add(
            check_name("nvsentinel", name), outcome, part, detail, category, 1,
            node=find_text(event, "nodeName")[:_MAX_NODE] or None,
            at=_read_time(event.get("generatedTimestamp")),
        )  # fmt: skip


def _read_time(said: object) -> datetime | None:
    """The time of an event: in words, or in parts, as the program's own log has it."""
    if isinstance(said, Mapping):
        return _read_seconds(said.get("seconds"))
    return parse_zoned_time(said) if isinstance(said, str) else None


def _read_seconds(said: object) -> datetime | None:
    """A time in seconds since the epoch; None for what is none of this century."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 1e9 < said < 4e9:
        return None
    return datetime.fromtimestamp(said, UTC)


def _list_event_gpus(event: _Json) -> list[str | None]:
    """The GPUs that an event names: by address, else by uuid, else by number."""
    found: dict[str, list[str | None]] = {}
    entities = event.get("entitiesImpacted")
    for entity in iterate_items(entities[:256] if isinstance(entities, list) else None):
        part = format_gpu_part(find_text(entity, "entityValue"))
        if part is not None:
            found.setdefault(find_text(entity, "entityType").upper(), []).append(part)
    return next((found[kind] for kind in _GPU_ENTITIES if kind in found), [])


# Records of Meta's GCM. The results are those of Nagios; times are seconds since the epoch.

_RESULTS: Final = (PASS, WARN, FAIL, SKIPPED)


def read_gcm_records(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        for record in _list_records(document):
            check, result = find_text(record, "health_check"), record.get("result")
            known = isinstance(result, int) and not isinstance(result, bool) and 0 <= result <= 3
            if not check or not known:
                reading.skip(1, 'no record with "health_check" and a known "result"')
                continue
            outcome, wording = _RESULTS[int(str(result))], find_text(record, "_msg", "msg")
            complaint = (
                classify_plain_words(f"{check} {wording}") if outcome in BAD else Complaint()
            )
            reading.add(
                check_name("gcm", check.removeprefix("check ")), outcome, complaint.gpu, wording,
                complaint.category, 1, node=find_text(record, "node")[:_MAX_NODE] or None,
                at=_read_seconds(record.get("end_time")),
            )  # fmt: skip


def _list_records(document: object) -> list[_Json]:
    """The records of a document; some sinks wrap them into ``message`` or ``normal``."""
    found = []
    for entry in iterate_items(document):
        inner = entry.get("message", entry)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except (ValueError, RecursionError):
                continue
        found += [one for one in iterate_items(inner) if "health_check" in one]
    return found


# SuperBench: what benchmarks of a node returned, and which nodes its diagnosis calls defective.
# Without ``diagnosis/accept`` every node that is listed is defective. What was measured is held
# against nothing here: the baseline stands in files of SuperBench.

# "nccl-bw:nvlink/return_code", "gpt-7b/return_code:0"
_CODE: Final = compile_re(r"([\w.:/-]{1,160})[/:]return_code(?::\d{1,4})?$")
# Arguments, precision or binary that do not fit the machine: nothing was measured.
_NOT_RUN: Final = frozenset({1, 2, 10, 30, 31, 34, 50, 51, 52})


def read_superbench(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        for entry in iterate_items(document):
            if reading.full:
                return
            node = find_text(entry, "node", "index")[:_MAX_NODE] or None
            if any(key.startswith("diagnosis/") or key == "Defective Details" for key in entry):
                _read_diagnosis(node, entry, reading)
            else:
                _read_node_results(node, entry, reading)
    reading.none_found("superbench.run", "no benchmark has a return code")


def _read_diagnosis(node: str | None, entry: _Json, reading: Reading) -> None:
    sort = find_text(entry, "diagnosis/category", "Category")
    said = find_text(entry, "diagnosis/issue_details", "Defective Details")
    outcome, detail = FAIL, f"{sort}: {said}"
    if entry.get("diagnosis/accept", entry.get("Accept")) is True:
        outcome, detail = PASS, "accepted"
    category = find_category(f"{sort} {said}")
    reading.add("superbench.diagnosis", outcome, None, detail, category, 1, node=node)


def _read_node_results(node: str | None, entry: _Json, reading: Reading) -> None:
    """The return codes of one node's benchmarks, the worst of each benchmark's."""
    worst: dict[str, int] = {}
    for key, code in entry.items():
        found = _CODE.match(key)
        if found is not None and isinstance(code, int) and not isinstance(code, bool):
            worst[found[1]] = max(worst.get(found[1], 0), abs(code))
    for benchmark, code in worst.items():
        outcome = SKIPPED if code in _NOT_RUN else FAIL if code else PASS
        detail = f"{json.dumps(benchmark)[1:-1]}: return code {code}"
        check = check_name("superbench", benchmark)
        reading.add(check, outcome, None, detail, line=1, node=node)


# Conditions of Kubernetes nodes, as the agents that watch them set them. EKS's agent sets
# conditions that end in ``Ready``, false where something is wrong; the node-problem-detector and
# NVSentinel set problems, true where there is one. Kubernetes' own pressures warn.

_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_OF_CONDITION: Final = {name: Category(part) for name, part in _DATA["of_condition"].items()}
# "NvidiaXID79Error", "DCGMDiagnosticFailure": words run together.
_WORDS: Final = compile_re(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def read_conditions(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        for entry in iterate_items(document):
            for node in iterate_items(entry.get("items", entry)):
                if node.get("kind") != "Node":
                    continue
                name = next(
                    (find_text(one, "name") for one in iterate_items(node.get("metadata"))), ""
                )
                status = node.get("status")
                listed = status.get("conditions") if isinstance(status, Mapping) else None
                for condition in iterate_items(listed):
                    if not reading.full:
                        _read_condition(name[:_MAX_NODE] or None, condition, reading)
    reading.none_found("node.conditions", "no node has a condition")


def _read_condition(node: str | None, condition: _Json, reading: Reading) -> None:
    sort, state = find_text(condition, "type"), find_text(condition, "status")
    words = f"{find_text(condition, 'reason')}: {find_text(condition, 'message')}"
    outcome: Outcome = PASS if state in ("True", "False") else SKIPPED
    category = part = at = None
    if state == ("False" if sort.endswith("Ready") else "True"):
        complaint = classify_plain_words(_WORDS.sub(" ", words))
        outcome = WARN if sort in _PRESSURES or complaint.follows else FAIL
        part, at = complaint.gpu, parse_zoned_time(find_text(condition, "lastTransitionTime"))
        # Where it is not ready as a whole, the kubelet is silent: it does not say why.
        category = complaint.category or _OF_CONDITION.get(sort) if sort != "Ready" else None
    check = check_name("node", _WORDS.sub("_", sort))
    reading.add(check, outcome, part, words, category, 1, node=node, at=at)
