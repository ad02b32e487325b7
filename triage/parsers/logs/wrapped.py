"""Lines inside other lines: JSON objects, container runtimes, agents of providers, file lists.

Also progress bars, which are redrawn in place and so end up with the next message
glued behind them.
"""

import json
import re
from typing import Any, Final

from triage.domain.evidence import Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs.stamps import make_epoch, read_time
from triage.parsers.logs.state import Strip
from triage.signatures.program.process_names import Whose, classify_owner

_DECODER: Final = json.JSONDecoder(strict=False)
_MESSAGES: Final = (
    "MESSAGE", "message", "msg", "log", "textPayload", "jsonPayload", "text", "line",
    "SyslogMessage", "Message", "_raw", "body",
    # What stands around the record that a store of logs gives back.
    "_source", "result", "attributes",
)  # fmt: skip
_TIMES: Final = (
    "time", "timestamp", "@timestamp", "ts", "asctime", "datetime", "receiveTimestamp",
    "TimeGenerated", "EventTime", "_time", "date", "generatedTimestamp", "eventTime", "createdAt",
    "created_at", "occurredAt", "startTime", "Created", "EventTimestamp",
)  # fmt: skip
_HOSTS: Final = (
    "_HOSTNAME", "hostname", "host", "node", "node_name", "nodename", "instance", "HostName",
    "Computer", "host_name", "nodeName", "machine", "machineName",
    "compute.googleapis.com/resource_name",
)  # fmt: skip
# Objects beside a message that say where it was written.
_PLACES: Final = ("labels", "stream", "resource", "kubernetes", "host", "agent")
# What names the program that wrote it, or the facility.
_PROGRAMS: Final = (
    "_TRANSPORT", "SYSLOG_IDENTIFIER", "syslog_identifier", "identifier", "ident", "transport",
    "unit", "ProcessName", "Facility", "facility", "appname", "app_name", "program",
)  # fmt: skip
_HAS_MESSAGE: Final = compile_re(
    r'"(?:MESSAGE|[mM]essage|msg|log|textPayload|jsonPayload|text|line|SyslogMessage|_raw|body)"\s{0,8}:'
)
_CUT_MESSAGE: Final = compile_re(
    r'"(?:MESSAGE|message|msg|log|textPayload)"\s{0,8}:\s{0,8}"((?:[^"\\]|\\.)*)', re.DOTALL
)
_CUT_TIME: Final = compile_re(r'"(?:time|timestamp|@timestamp|ts)"\s{0,8}:\s{0,8}"([^"]{10,40})"')
_CUT_HOST: Final = compile_re(r'"(?:_HOSTNAME|hostname|host|node)"\s{0,8}:\s{0,8}"([^"]{1,253})"')

_CRI: Final = compile_re(r"std(?:out|err) ([FP]) ?")
_EXPORT: Final = compile_re(r"MESSAGE=")
_INSTANCE: Final = compile_re(r"Xid errors on instance: ([^,\s]{1,253}), Error: ")
_EVENT: Final = compile_re(
    r"(?:Warning|Normal)[ \t]+([A-Z]\w{2,60})[ \t]+(?:\d{1,4}[smhd]){1,4}"
    r"(?:[ \t]\(x\d{1,9} over (?:\d{1,4}[smhd]){1,4}\))?[ \t]+([a-z][\w.-]{1,80})[ \t]+"
)
_LISTED_EVENT: Final = compile_re(
    r"(?:\d{1,4}[smhd]){1,4}(?:[ \t]\(x\d{1,9} over (?:\d{1,4}[smhd]){1,4}\))?[ \t]+"
    r"(?:Warning|Normal)[ \t]+([A-Z]\w{2,60})[ \t]+node/([\w.-]{1,253})[ \t]+"
)
# An event of a stream of them, as journalctl -o json-sse prints it.
_SENT: Final = compile_re(r"data: (?=\{)")
_LOGFMT: Final = compile_re(
    r'(?:time|ts)="?([^"\s]{10,40})"? (?:[a-z_]{1,20}=[^"\s]{1,80} ){0,4}(?:msg|message)="?'
)
_POD: Final = compile_re(r"\[pod/([\w.-]{1,253})/[\w.-]{1,253}\] ?")
_TEE: Final = compile_re(r"([\w./-]{1,300}) (?=\[std(?:err|out)\] )")

# How the lines that other tools prefix begin: what must follow a file or host name.
_BEGINNING: Final = (
    r"(?=[ \t]*(?:\[ *\d{1,12}\.\d{6}\]|\[ *\+\d|\[rank\d|\[[EWIF]\d{3,4} |\[[EWIF] \w|\[default\d"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[[^\W\d]{1,6}\.? {1,2}\S{2,6} {1,3}\d{1,2} \d\d:"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|kern +:|kern:|\d{1,3},\d{1,19},\d{1,19},"
    r"|[EWIF]\d{3,4} \d\d:\d\d:|kernel: ?|NVRM: |\{\"|<\d{1,3}>\["
    r"|[\w.-]{1,253}:\d{1,8}:\d{1,8} \[))"
)
_FILE: Final = compile_re(
    r"((?:\.{0,2}/)?[\w.+@=-]{1,200}(?:/[\w.+@=-]{1,200}){0,16})(?::(\d{1,10}))?:" + _BEGINNING
)
_LOG_FILE: Final = compile_re(
    r"((?:\.{0,2}/)?(?:[\w.+@=-]{1,200}/){0,16}[\w.+@=-]{1,200}\.(?:log|out|err|txt|gz)):(?:\d{1,10}:)?"
)
_CONTEXT: Final = compile_re(
    r"((?:\.{0,2}/)?(?:[\w.+@=-]{1,200}/){0,16}[\w.+@=-]{1,200}\.(?:log|out|err|txt))-\d{1,10}-"
)
_FOLDER: Final = compile_re(r"(?:^|/)nodes/([\w.-]{1,253})/")
_NO_NODE: Final = compile_re(
    r"(?i:kernel|kern|stderr|stdout|error|warning|warn|info|debug|fatal|critical|messages|syslog|dmesg|torch"
    r"|time|date|log|output|traceback|note|nvrm|srun|slurmstepd|mpirun|task|run|master|line)$"
)
_QUOTED: Final = compile_re(r'"(?:MESSAGE|message|msg|log)"\s{0,8}:\s{0,8}"')

# The end of a bar: its elapsed and remaining time, or its empty picture.
_BAR: Final = compile_re(
    r"\[(?:\d{1,3}:)?\d{1,2}:\d\d(?:<|, )[^\[\]]{0,300}\]|\d{1,3}%\|[^|\[\]]{0,300}\|(?=\[)"
)


def take_glued_bar(strip: Strip) -> bool:
    """Drop progress bars that stand before something else on the same line."""
    line, pos = strip.line, strip.pos
    if "%" not in line and "it" not in line and "/s" not in line:
        return False
    end = -1
    for found in _BAR.finditer(line, pos):
        end = found.end()
    if end < 0 or not line[end:].strip(" \t|\x00"):
        return False
    strip.pos = end
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


def _parse_json_time(value: Any) -> Stamp | None:
    if isinstance(value, str):
        if value.isdecimal() and value.isascii() and 10 <= len(value) <= 19:
            return make_epoch(int(value))
        return read_time(value)
    return make_epoch(value) if isinstance(value, int | float) and value is not True else None


def _take_json(strip: Strip, _match: "re.Match[str]") -> bool:
    """Take the message out of an object, and beside it whatever says when and where."""
    line = strip.line
    if _HAS_MESSAGE.search(line, strip.pos) is None:
        return False
    try:
        value, end = _DECODER.raw_decode(line, strip.pos)
    except (ValueError, RecursionError):
        return _cut_json(strip)
    if not isinstance(value, dict) or line[end:].strip(" \t\r\n,]"):
        return False
    text = None
    for _ in range(3):
        text = next((value[key] for key in _MESSAGES if value.get(key) is not None), None)
        _take_object_fields(strip, value)
        if not isinstance(text, dict):
            break
        value = text
    plain = get_text(text)
    if plain is None:
        return False
    gpu = _describe_gpu(line[strip.pos : end], plain)
    text = _describe_object(value) + plain + gpu + _get_exception(value)
    _replace(strip, "" if value.get("isHealthy") is True else text)
    return True


# Where loggers put the traceback beside the message.
_EXCEPTIONS: Final = (
    "exc_info", "exception", "exc_text", "traceback", "stack_trace", "stacktrace", "stack",
    "error.stack_trace", "exc", "err", "error",
)  # fmt: skip


def _get_exception(value: dict[str, Any]) -> str:
    """The traceback of an object behind a line end, empty where it has none."""
    for key in _EXCEPTIONS:
        found = value.get(key)
        if isinstance(found, dict):
            found = found.get("stack_trace") or found.get("stack") or found.get("message")
        if isinstance(found, str) and "\n" in found:
            return f"\n{found}"
    return ""


_LABEL: Final = compile_re(r'"?([\w./-]{1,80})"?\s{0,4}[:=]\s{0,4}"([^"]{0,300})"')
_UNITS: Final = ("unit", "systemd_unit", "syslog_identifier", "app", "service_name", "container")


def _take_labels(strip: Strip, match: "re.Match[str]") -> bool:
    """Take who wrote a line from the labels that a store of logs prints before it."""
    labels = dict(_LABEL.findall(match[1] or match[2]))
    known = (*_HOSTS, *_PROGRAMS, *_UNITS)
    if not any(name in labels for name in known):
        return False
    strip.pos = match.end()
    _take_object_fields(strip, labels)
    unit = next((labels[name] for name in _UNITS if labels.get(name)), None)
    if unit is not None and not strip.kernel:
        strip.said_by(unit.removesuffix(".service")[:80])
    return True


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
    kind, name, reason = (value.get(key) for key in ("kind", "name", "reason"))
    if not (isinstance(kind, str) and isinstance(name, str) and isinstance(reason, str)):
        return ""
    known = kind.lower() in ("pod", "node") and name and " " not in name
    return f"{reason} {kind.lower()}/{name} " if known else ""


def _take_object_fields(strip: Strip, value: dict[str, Any]) -> None:
    realtime = _number_text(value.get("__REALTIME_TIMESTAMP"))
    if realtime is not None:
        strip.clock(make_epoch(realtime))
        up = _number_text(
            value.get("_SOURCE_MONOTONIC_TIMESTAMP", value.get("__MONOTONIC_TIMESTAMP"))
        )
        if up is not None:
            strip.clock(Stamp(uptime_ns=up * 1000, error_ns=1000))
    for key in _TIMES:
        if key in value:
            strip.clock(_parse_json_time(value[key]))
            break
    _take_writer(strip, value)
    for key in _PLACES:
        inner = value.get(key)
        if isinstance(inner, dict):
            _take_writer(
                strip,
                {**inner, **_collect_facts(inner.get("labels")), "node": _get_name(inner, key)},
            )
    if not strip.kernel and isinstance(value.get("SYSLOG_IDENTIFIER"), str):
        strip.program = strip.program or value["SYSLOG_IDENTIFIER"][:80]
    for name, keys in (
        ("rank", ("rank", "global_rank")),
        ("local_rank", ("local_rank",)),
        ("pid", ("pid", "_PID")),
    ):
        found = next((n for n in (_number(value.get(key)) for key in keys) if n is not None), None)
        if found is not None and getattr(strip, name) is None:
            setattr(strip, name, found)


def _take_writer(strip: Strip, value: dict[str, Any]) -> None:
    """The host that an object names, and whether a kernel wrote."""
    for key in _HOSTS:
        name = value.get(key)
        if isinstance(name, str) and 0 < len(name) <= 253 and " " not in name:
            strip.host(name)
            break
    if any(value.get(key) in ("kernel", "kern") for key in _PROGRAMS):
        strip.kernel = True
    unit = value.get("unit")
    if isinstance(unit, str) and not strip.kernel and classify_owner(unit) is Whose.SERVICE:
        strip.program = strip.program or unit.removesuffix(".service")[:80]


def _collect_facts(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _get_name(inner: dict[str, Any], key: str) -> Any:
    """The name in an object: a host's own is the host's name."""
    name = inner.get("node")
    return inner.get("name") if name is None and key == "host" else name


def _number_text(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _replace(strip: Strip, text: str) -> None:
    strip.line = text.rstrip("\r\n")
    strip.pos = 0


def _unescape(text: str) -> str:
    try:
        plain = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return str(plain)


def _cut_json(strip: Strip) -> bool:
    """The message of an object that is cut, or that is no proper JSON."""
    line, pos = strip.line, strip.pos
    found = _CUT_MESSAGE.search(line, pos)
    if found is None:
        return False
    time = _CUT_TIME.search(line, pos)
    if time is not None:
        strip.clock(_parse_json_time(time[1]))
    name = _CUT_HOST.search(line, pos)
    if name is not None:
        strip.host(name[1])
    _replace(strip, _unescape(found[1]))
    return True


def _take_quoted(strip: Strip, _match: "re.Match[str]") -> bool:
    """One row of an object that is printed over several lines."""
    found = _CUT_MESSAGE.match(strip.line, strip.pos)
    if found is None:
        return False
    _replace(strip, _unescape(found[1]))
    return True


def _take_cri(strip: Strip, match: "re.Match[str]") -> bool:
    strip.partial |= match[1] == "P"
    return True


def _take_nothing(_strip: Strip, _match: "re.Match[str]") -> bool:
    return True


def _take_pod(strip: Strip, match: "re.Match[str]") -> bool:
    """``[pod/llm-worker-1/pytorch] ``, as `kubectl logs --prefix` writes it."""
    if strip.printed_by is None:
        strip.printed_by = match[1]
    return True


def _take_instance(strip: Strip, match: "re.Match[str]") -> bool:
    strip.host(match[1])
    return True


def _take_event(strip: Strip, match: "re.Match[str]") -> bool:
    """What the node problem detector read in a kernel log; of all others the reason says more
    than the text, so that they stay whole.
    """
    if match[2] != "kernel-monitor":
        return False
    strip.kernel = True
    return True


def _take_listed_event(strip: Strip, match: "re.Match[str]") -> bool:
    strip.host(match[2])
    strip.pos = match.start(1)
    return True


def _take_logfmt(strip: Strip, match: "re.Match[str]") -> bool:
    strip.clock(_parse_json_time(match[1]))
    return True


def _take_file(strip: Strip, match: "re.Match[str]") -> bool:
    """A file name of grep, or a host name of pdsh."""
    name = match[1]
    if _NO_NODE.match(name) is None and "/" not in name and strip.line[match.end() :][:1] == " ":
        strip.host(name)
    return _log_file(strip, match)


def _log_file(strip: Strip, match: "re.Match[str]") -> bool:
    folder = _FOLDER.search(match[1])
    if folder is not None:
        strip.host(folder[1])
    return True


# pdsh and the launchers that use it: "n30039: RuntimeError: ..." A name without a digit is a
# program's, and a rank or a step is no host.
_PDSH: Final = compile_re(
    r"(?!(?i:rank|step|iter\w*|epoch|worker|gpu|cuda|task|proc\w*|pid|line|python|stage|layer|trial|err\w*"
    r"|exit|job|run|attempt|shard|batch|bucket|device|dev|replica|group|pg|pp|tp|dp|core|thread)"
    r"[\d_.-]|(?i:v|h|a|b|gb|mi|py|x)\d{1,3}\w?:)"
    r"([A-Za-z](?:[\w.-]{0,60}[\w-])?\d[\w-]{0,30}(?:\.[a-z][\w.-]{0,100})?): "
    r"(?=Traceback \(most|  File \"|(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception"
    r"|Interrupt)\b"
    r"|ssh exited with)",
)


def _take_pdsh(strip: Strip, match: "re.Match[str]") -> bool:
    strip.printed_by = strip.printed_by or match[1]
    strip.host(match[1])
    return True


# The daemon of a step says on which node it runs; its name stays, signatures look for it.
_STEP_DAEMON: Final = compile_re(
    r"slurmstepd-([A-Za-z0-9][\w.-]{0,250}): (?=error|fatal|info|debug)"
)


def _step_daemon(strip: Strip, match: "re.Match[str]") -> bool:
    strip.host(match[1])
    return False


_WORD: Final = (
    (_CRI, _take_cri),
    (_EXPORT, _take_nothing),
    (_SENT, _take_nothing),
    (_INSTANCE, _take_instance),
    (_EVENT, _take_event),
    (_LOGFMT, _take_logfmt),
    (_TEE, _log_file),
    (_STEP_DAEMON, _step_daemon),
    (_PDSH, _take_pdsh),
    (_FILE, _take_file),
    (_LOG_FILE, _log_file),
    (_CONTEXT, _log_file),
)
_PATH: Final = ((_FILE, _take_file), (_LOG_FILE, _log_file), (_CONTEXT, _log_file))
_OBJECT: Final = compile_re(r"\{")
# What Loki and its like print before a line: {"node":"gpu-17","unit":"kernel"}, or {node="gpu-17"}.
_LABELS: Final = compile_re(
    r'\{((?:\s{0,4}"[\w./-]{1,80}"\s{0,4}:\s{0,4}"[^"\\]{0,300}"\s{0,4},?){1,40})\s{0,4}\}'
    r"[ \t]+(?=\S)"
    r'|\{((?:\s{0,4}[a-zA-Z_]\w{0,79}="[^"\\]{0,300}"\s{0,4},?){1,40})\s{0,4}\}[ \t]+(?=\S)'
)
# First character -> rules in the order in which they are tried.
RULES: Final = {
    "{": ((_LABELS, _take_labels), (_OBJECT, _take_json)),
    '"': ((_QUOTED, _take_quoted),),
    "0": ((_LISTED_EVENT, _take_listed_event), *_PATH),
    "A": _WORD,
    "a": _WORD,
    ".": _PATH,
    "/": _PATH,
    "[": ((_POD, _take_pod),),
}
