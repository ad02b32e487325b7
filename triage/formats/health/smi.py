"""What ``nvidia-smi`` prints: ``-q`` as text and XML, ``nvlink``, its table, CSV of a query.

Times have no zone and are not used. In an incident's folder tables are read for their load, too.
A driver that is not there, or another one than its library, is nothing of a GPU.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.reading import (
    FAIL,
    PASS,
    WARN,
    Reading,
    add_links,
    count_line,
    iterate_lines,
)
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data
from triage.signatures.pci import normalize_bus_id

# One GPU as ``nvidia-smi`` shows it, and what is wrong with that.
#
# The state is a moment's: a counter that is not zero says that something happened since the
# driver was loaded (volatile) or ever (aggregate), not when. So only what is wrong now, or
# bars the GPU from work, fails; the rest warns.

# Degrees below the temperature of its own slowdown at which a GPU is nearly too hot.
_NEARLY_HOT_C: Final = 5
# In P0 a link runs at its full speed; an idle GPU lowers its generation to save power.
_FULL_SPEED: Final = frozenset({"P0", "P1", "P2"})
_NOT_IN_A_FABRIC: Final = frozenset({"n/a", "not supported", ""})
_NOTHING_ASKED: Final = frozenset({"none", "n/a", ""})
_Said = tuple[str, Outcome, str, Category | None]
_State = dict[str, Any]
"""What one GPU's report says, by the names of ``smi.toml``, as far as it does.

``gpu`` is ``dddd:bb:dd``. ``throttled`` are the reasons that are active, in lower case. Errors are
counts; ``uncorrected`` is volatile, ``uncorrected_ever`` aggregate.
"""


def judge(state: _State, reading: Reading) -> None:
    """The results of one GPU: one for each check that its report has values of."""
    sections = (
        judge_errors,
        _judge_memory_repair,
        judge_throttling,
        link,
        judge_temperature,
        judge_fabric,
        _judge_settings,
    )
    for section in sections:
        for check, outcome, said, category in section(state):
            reading.add(check, outcome, state["gpu"], said, category, state["line"])


def judge_errors(state: _State) -> Iterator[_Said]:
    """Uncorrectable memory errors since the driver was loaded, and ever."""
    for check, suffix, when, bad in (
        ("gpu.ecc", "", "since the driver was loaded", FAIL),
        ("gpu.ecc_ever", "_ever", "ever", WARN),
    ):
        counts = [state.get(f"{place}_uncorrected{suffix}") for place in ("dram", "sram")]
        if counts != [None, None]:
            dram, sram = (count or 0 for count in counts)
            category = Category.GPU_SRAM if sram > dram else Category.GPU_HBM
            said = f"uncorrectable {when}: DRAM {dram}, SRAM {sram}"
            yield check, bad if dram + sram else PASS, said, category


def _judge_memory_repair(state: _State) -> Iterator[_Said]:
    """Rows remapped and pages retired: pending until a reset, or not possible any more."""
    failed, pending = state.get("remap_failed"), state.get("remap_pending")
    if failed is not None or pending is not None:
        rows = state.get("remapped_uncorrected") or 0
        outcome, said = PASS, f"{rows} rows remapped for uncorrectable errors"
        if failed:
            outcome, said = FAIL, "a row could not be remapped: replace the GPU"
        elif pending:
            outcome, said = WARN, "a row remap is pending: reset the GPU"
        elif rows:
            outcome = WARN
        yield "gpu.row_remap", outcome, said, Category.GPU_HBM
    pending, pages = state.get("retirement_pending"), state.get("retired_double")
    if pending is not None or pages is not None:
        said = f"{pages or 0} pages retired for double-bit errors"
        said += ", more are pending: reset the GPU" if pending else ""
        yield "gpu.retired_pages", WARN if pending else PASS, said, Category.GPU_HBM


def judge_throttling(state: _State) -> Iterator[_Said]:
    """A slowdown by hardware is a fault; the power cap in software is a busy GPU's rule."""
    active = state.get("throttled")
    if active is None:
        return
    outcome, category = PASS, None
    if any("power brake" in reason for reason in active):
        outcome, category = FAIL, Category.POWER
    elif any(reason.startswith("hw") for reason in active):
        outcome, category = FAIL, Category.GPU_THERMAL
    elif any("thermal" in reason for reason in active):
        outcome, category = WARN, Category.GPU_THERMAL
    yield "gpu.throttle", outcome, "active: " + (", ".join(active) or "none"), category


def link(state: _State) -> Iterator[_Said]:
    """PCIe narrower than it can be; slower only counts where the GPU is not idle."""
    width, most = state.get("link_width"), state.get("link_width_max")
    if width is None or most is None:
        return
    said, outcome = f"x{width} of x{most}", FAIL if width < most else PASS
    gen, most = state.get("link_gen"), state.get("link_gen_max")
    if gen is not None and most is not None:
        said += f", generation {gen} of {most}"
        if outcome is PASS and gen < most and state.get("performance_state") in _FULL_SPEED:
            outcome = WARN
    yield "gpu.pcie_link", outcome, said, Category.IO_BOARD


def judge_temperature(state: _State) -> Iterator[_Said]:
    """Beside the temperature at which this GPU slows itself; without one nothing is said."""
    left, now, slowdown = map(state.get, ("celsius_left", "celsius", "slowdown_celsius"))
    if left is None and now is not None and slowdown is not None:
        left = slowdown - now
    if left is None:
        return
    outcome = FAIL if left <= 0 else WARN if left <= _NEARLY_HOT_C else PASS
    said = f"{'' if now is None else f'{now} C, '}{left} C below its slowdown"
    yield "gpu.temperature", outcome, said, Category.GPU_THERMAL


def judge_fabric(state: _State) -> Iterator[_Said]:
    """Whether the GPU has joined the fabric of its NVLink domain; N/A where there is none."""
    joined = state.get("fabric_state")
    if joined is None or joined.lower() in _NOT_IN_A_FABRIC:
        return
    status, bandwidth = state.get("fabric_status") or "", state.get("fabric_bandwidth") or ""
    said, outcome = f"{joined}, {status or 'no status'}", PASS
    if bandwidth.lower() == "degraded" or joined.lower() != "completed":
        outcome = WARN
    if bandwidth.lower() not in _NOTHING_ASKED:
        said += f", bandwidth {bandwidth}"
    if state.get("fabric_route_unhealthy"):
        said += ", a route is unhealthy"
        outcome = FAIL
    if status.lower() not in ("success", *_NOTHING_ASKED):
        outcome = FAIL
    yield "gpu.fabric", outcome, said, Category.NVLINK


def _judge_settings(state: _State) -> Iterator[_Said]:
    """What the driver asks for, and persistence mode."""
    action, persistence = state.get("recovery_action"), state.get("persistence")
    if action is not None:
        outcome = FAIL if action.strip().lower() not in _NOTHING_ASKED else PASS
        yield "gpu.recovery_action", outcome, f"the driver asks for: {action}", Category.GPU
    if persistence is not None:
        said = "persistence mode is " + ("on" if persistence else "off")
        yield "gpu.persistence", PASS if persistence else WARN, said, None


_FLAGS: Final = {
    "yes": True, "enabled": True, "active": True,
    "no": False, "disabled": False, "not active": False,
}  # fmt: skip
_NUMBER: Final = compile_re(r"-?\d{1,12}")


def number(text: str) -> int | None:
    """``16x``, ``61 C``, ``0``: the number; None for ``N/A``."""
    found = _NUMBER.match(text.strip())
    return int(found[0]) if found else None


def parse_yes(text: str) -> bool | None:
    """``Yes``, ``Not Active`` ...; None for ``N/A``."""
    return _FLAGS.get(text.strip().lower())


def parse_yes_or_true(text: str) -> bool | None:
    """``True``, ``False``: as the fabric's health is printed."""
    return {"true": True, "false": False}.get(text.strip().lower(), parse_yes(text))


def flag(text: str) -> bool | None:
    """``Yes``, or the count that newer drivers print."""
    count = number(text)
    return parse_yes(text) if count is None else count > 0


# How the values of smi.toml are read; "sum" adds the counts of several kinds of one memory.
_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "number": number,
    "sum": number,
    "yes": parse_yes,
    "flag": flag,
    "yes_or_true": parse_yes_or_true,
    "text": str.strip,
}
_FIELDS: Final = load_data(__name__)["values"]
_OF_TEXT, _OF_XML, _OF_CSV = (_FIELDS[form] for form in ("text", "xml", "csv"))


def _put(state: _State, fields: Mapping[str, tuple[str, str]], name: str, text: str) -> None:
    """Keep the value of a place that is known."""
    if name in fields:
        field, how = fields[name]
        value = _READ[how](text)
        if value is not None:
            state[field] = value + state.get(field, 0) if how == "sum" else value


# nvidia-smi -q

LOG: Final = compile_re(r"={4,40}NVSMI LOG={4,40}")
# Without `-d` a GPU's part begins with its name, and its processes stand behind all that is judged.
_ENTIRE: Final = ("    Product Name", "    Processes")
_ATTACHED: Final = compile_re(r"Attached GPUs\s{0,60}: (\d{1,4})\s*$")
GPU: Final = compile_re(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
# "    Product Name                      : NVIDIA H200": a GPU's part of a report, kept alone.
_FIRST_VALUES: Final = compile_re(
    r"\s{0,20}GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\s*\n"
    r"(?: {4}[A-Z][^:\n]{1,60}(?:: [^\n]{0,200})?\r?\n){2}"
)
# "        DRAM Uncorrectable                : 0"
_VALUE: Final = compile_re(r"(\s{0,40})([^:\s][^:]{0,80}?)\s{0,60}(?::\s?(.{0,200}))?$")
_MAX_LINE: Final = 300
_REASONS: Final = ("Clocks Throttle Reasons", "Clocks Event Reasons")


def begins_text(head: str) -> bool:
    return _FIRST_VALUES.match(head) is not None or LOG.search(head[:2000]) is not None


def read_text(text: str, reading: Reading) -> None:
    state: _State | None = None
    path: list[tuple[int, str]] = []
    begun = _FIRST_VALUES.match(text) is not None
    last, gpus, attached = 1, 0, 0
    seen: set[str] = set()
    for index, line in iterate_lines(text, _MAX_LINE):
        if not begun:
            begun = LOG.search(line) is not None
            reading.first_line = index if begun else 1
            continue
        found = GPU.match(line)
        if found is not None:
            if state is not None:
                judge(state, reading)
            state, path, last = (
                {"gpu": normalize_bus_id(found[1]) or found[1], "line": index},
                [],
                index,
            )
            gpus += 1
            seen.clear()
            continue
        if state is None and (count := _ATTACHED.match(line)) is not None:
            attached = int(count[1])
        if not line.strip():
            continue
        if not line[0].isspace() and state is not None:
            break  # the report has ended; what follows is another program's
        last = index
        if state is not None:
            _take(line, path, state)
            if line.startswith(_ENTIRE):
                seen.add(line[4:].partition(":")[0].strip())
    if state is None:
        reading.skip(None, "no GPU is listed in it")
    else:
        judge(state, reading)
    # With `-i` one GPU is listed, whatever is attached.
    if 1 < gpus < attached:
        reading.unknown("gpu.state", f"breaks off: {gpus} of {attached} GPUs are in it", line=last)
    elif attached and "Product Name" in seen and "Processes" not in seen:
        reading.unknown("gpu.state", "breaks off: the last GPU's processes are missing", line=last)
    reading.last_line = last


def _take(line: str, path: list[tuple[int, str]], state: _State) -> None:
    """One value, or one more section; ``path`` is (indentation, name) of the open sections."""
    found = _VALUE.match(line)
    if found is None:
        return
    while path and path[-1][0] >= len(found[1]):
        path.pop()
    if found[3] is None:
        path.append((len(found[1]), found[2]))
    elif path and path[-1][1] in _REASONS:
        active, said = parse_yes(found[3]), found[2].lower()
        if active is not None:
            known = state.get("throttled", ())
            state["throttled"] = (*known, said) if active and said != "idle" else known
    else:
        name = f"{path[-1][1]} / {found[2]}" if path else found[2]
        _put(state, _OF_TEXT, name, found[3])


# nvidia-smi -q -x: a document that declares entities is refused before it is parsed, for a few
# lines of them can ask for any memory. A report declares none.

XML: Final = compile_re(r"<nvidia_smi_log[\s>]")
_END: Final = "</nvidia_smi_log>"
_ENTITY: Final = compile_re(r"<!ENTITY|<!ATTLIST", re.IGNORECASE)
_XML_REASON: Final = compile_re(r"clocks_(?:throttle|event)_reason_(\w+)")


def begins_xml(head: str) -> bool:
    return XML.search(head[:4000]) is not None


def read_xml(text: str, reading: Reading) -> None:
    found, end = XML.search(text), text.find(_END)
    if found is None or end < 0:
        reading.skip(None, "the report is cut off: its end is missing")
        return
    if _ENTITY.search(text, 0, end):
        reading.skip(None, "declares entities, which a report of nvidia-smi does not: not read")
        return
    reading.first_line, reading.last_line = count_line(text, found.start()), count_line(text, end)
    try:
        root = ElementTree.fromstring(text[found.start() : end + len(_END)])
    except ElementTree.ParseError as error:
        reading.skip(reading.first_line, f"not valid XML: {error}")
        return
    for gpu in root.iter("gpu"):
        address = normalize_bus_id(gpu.get("id", ""))
        if address is None:
            reading.skip(reading.first_line, "a GPU without its address")
            continue
        state: _State = {"gpu": address, "line": reading.first_line}
        for path in _OF_XML:
            if (said := gpu.findtext(path)) is not None:
                _put(state, _OF_XML, path, said)
        for tag in ("clocks_throttle_reasons", "clocks_event_reasons"):
            if (section := gpu.find(tag)) is not None:
                named = [
                    (_XML_REASON.fullmatch(one.tag), parse_yes(one.text or "")) for one in section
                ]
                state["throttled"] = tuple(
                    reason[1].replace("_", " ")
                    for reason, active in named
                    if reason is not None and active and reason[1] != "gpu_idle"
                )
        judge(state, reading)


# nvidia-smi nvlink -e and -s. Totals of errors do not say when: they warn, and a healthy link has
# some replays. A GPU with fewer links up than others of its node has lost them.


def judge_nvlink(blocks: Sequence[Block], reading: Reading) -> None:
    """The links of each GPU: their errors, or whether they are up."""
    gpus = [
        (one, [link for link in one.inner if "state" in link]) for one in blocks if "uuid" in one
    ]
    up = [sum(link.get("state")[0] != "<" for link in links) for _, links in gpus]
    for (one, links), num_up in zip(gpus, up, strict=True):
        if links:
            down = [link.get("link") for link in links if link.get("state")[0] == "<"]
            outcome, part = FAIL if num_up < max(up) else WARN, one.get("uuid")
            add_links("gpu.nvlink", part, down, len(links), outcome, one.line, reading)
        else:
            _judge_link_errors(one, reading)


def _judge_link_errors(gpu: Block, reading: Reading) -> None:
    """A link that retrains has lost its lanes; replays and CRC errors are mended."""
    counts: dict[str, int] = defaultdict(int)
    recovered: dict[str, None] = {}
    for one in gpu.inner:
        if (count := number(one.get("count"))) is not None:
            counts[one.get("what")] += count
            if count and "recovery" in one.get("what").lower():
                recovered[f"link {one.get('link')}"] = None
    said = ", ".join(f"{count} {what.lower()}" for what, count in counts.items() if count)
    said = f"{said}; {', '.join([*recovered][:8])} recovered" if recovered else said or "no errors"
    outcome, uuid = WARN if recovered else PASS, gpu.get("uuid")
    reading.add("gpu.nvlink_errors", outcome, uuid, said, Category.NVLINK, gpu.line)


# nvidia-smi --query-gpu=... --format=csv

# "clocks_event_reasons.hw_thermal_slowdown", before: "clocks_throttle_reasons...."
REASON: Final = compile_re(r"clocks_(?:event|throttle)_reasons\.(hw_\w{4,40}|sw_thermal_slowdown)$")
# Columns that say nothing alone.
_STATES: Final = frozenset({"pstate", "pcie.link.gen.current", "pcie.link.gen.max"})
_UNIT: Final = compile_re(r" \[[^\]]{1,12}\]$")


def _split_columns(line: str) -> list[str]:
    """The cells of a row; none where it is no row, as with a carriage return inside."""
    try:
        cells = next(csv.reader([line.lstrip("\ufeff")], skipinitialspace=True), [])
    except csv.Error:
        return []
    return [_UNIT.sub("", cell.strip()) for cell in cells]


def begins_csv(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")[:4000]
    names = set(_split_columns(first)) if "," in first else set()
    return bool((names & _OF_CSV.keys()) - _STATES) or any(map(REASON.match, names))


def read_csv(text: str, reading: Reading) -> None:
    names: list[str] = []
    for index, line in iterate_lines(text, 4000):
        if not line.strip():
            continue
        cells = _split_columns(line)
        if set(cells) & _OF_CSV.keys() or any(map(REASON.match, cells)):
            names = cells
        elif len(cells) == len(names):
            judge(_read_gpu_state(dict(zip(names, cells, strict=True)), index), reading)
        else:
            reading.skip(index, "not as many values as columns")
    reading.none_found("gpu.present", "no GPU is listed")


def _read_gpu_state(row: Mapping[str, str], line: int) -> _State:
    address = row.get("pci.bus_id") or row.get("gpu_bus_id") or ""
    part = normalize_bus_id(address) if address else None
    part = part or row.get("uuid") or row.get("gpu_uuid") or f"gpu {row.get('index', '0')}"
    state: _State = {"gpu": part, "line": line}
    for name, text in row.items():
        _put(state, _OF_CSV, name, text)
    reasons = {found[1]: row[name] for name in row if (found := REASON.match(name))}
    if reasons:
        active = [reason for reason, text in reasons.items() if parse_yes(text)]
        state["throttled"] = tuple(reason.replace("_", " ") for reason in active)
    return state
