"""Ports of one node, their links, counters and modules: ``ibstat`` and its kin, ``perfquery``,
``mlxlink``, perftest and ``ethtool``.

Counters are totals since somebody cleared them: they advise, unless they grew between two
readings in one file. What is enough bandwidth, and whether a port is used, other ports of its kind
in the same file say.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    iterate_documents,
    iterate_lines,
)
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data

_NETWORK: Final = Category.NETWORK
_STATE: Final = "ib.link_state"
_UP: Final = frozenset({"active", "port_active"})
_LINKED: Final = frozenset({"linkup", "link_up", ""})


def judge_ports(blocks: Sequence[Block], reading: Reading) -> None:
    """The ports of ``ibstat``, ``ibstatus`` and ``ibv_devinfo``, and how many are missing."""
    ports = [one for one in blocks if "port" in one]
    layered = any(one.get("layer") for one in ports)
    for one in ports:
        one.is_whole &= bool(one.get("layer")) or not layered
        one.values["part"] = [f"{one.find('adapter')}/{one.get('port')}"]
    # ibv_devinfo does not say that an adapter has one port.
    counts = {
        block.find("adapter"): int(block.get("announced") or 1)
        for block in blocks
        if "announced" in block or "hca" in block
    }
    listed = Counter(one.find("adapter") for one in ports)
    for name, count in counts.items():
        if listed[name] < count:
            reading.unknown(_STATE, f"breaks off: {listed[name]} of {count} ports", name)
    _judge_ports(ports, reading)


def _is_up(port: Block) -> bool:
    """Whether it carries traffic."""
    return port.get("state").lower() in _UP and port.get("physical").lower() in _LINKED


def _judge_ports(ports: Sequence[Block], reading: Reading) -> None:
    """Each port, held against the others of its type and layer in the same report.

    One that is down fails only where another of its kind is up: many machines have ports that
    nothing is plugged into. Rates are in Gb/s.
    """
    kinds = [(one.find("kind"), one.get("layer")) for one in ports]
    up: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one, kind in zip(ports, kinds, strict=True):
        if _is_up(one):
            up[kind].append(int(one.get("rate") or 0))
    for one, kind in zip(ports, kinds, strict=True):
        part, rate, alike = one.get("part"), int(one.get("rate") or 0), up.get(kind, [])
        if not one.is_whole:
            reading.unknown(_STATE, "the report breaks off in it", part, one.line)
            continue
        said = ", ".join(filter(None, map(one.get, ("state", "physical")))) or "unknown"
        outcome = PASS
        if one.get("physical").lower() == "disabled":
            outcome, said = SKIPPED, f"{said}: switched off"
        elif not _is_up(one):
            outcome = FAIL if alike else WARN
            said += "" if alike else "; no port of its kind is up, it may be unused"
        reading.add(_STATE, outcome, part, said, _NETWORK, one.line)
        if _is_up(one) and rate:
            slower, said = FAIL if rate < max(alike) else PASS, f"{rate} of {max(alike)} Gb/s"
            reading.add("ib.link_rate", slower, part, said, _NETWORK, one.line)


_STATES: Final = frozenset({"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"})
_PHYSICAL: Final = frozenset(
    {
        "NOP", "SLEEP", "POLLING", "DISABLED", "PORT_CONFIGURATION_TRAINING", "LINK_UP",
        "LINK_ERROR_RECOVER", "PHY_TEST",
    }
)  # fmt: skip


def judge_rdma(blocks: Sequence[Block], reading: Reading) -> None:
    """The rows of ``rdma link``."""
    for one in blocks:
        if "broken" in one:
            reading.unknown(_STATE, "its row breaks off", one.get("broken"), one.line)
    ports = [one for one in blocks if "part" in one]
    for one in ports:
        one.values["layer"] = ["InfiniBand" if "lid" in one.get("ids").split() else "Ethernet"]
        one.is_whole = one.get("state") in _STATES and one.get("physical") in _PHYSICAL
    _judge_ports(ports, reading)


# perfquery of one port, ibqueryerrors of a fabric. Thresholds are those of infiniband-diags
# (``error_thresholds``). A port that was read twice in one file fails where links went down or
# symbols were lost in between.

_COUNTERS: Final = "ib.counters"
# Errors for "n3 mlx5_0": a node and its adapter; a switch has another name or only a number.
_ADAPTER_OF: Final = compile_re(r"(\S{1,256}) (mlx\w{1,20}|HCA-\d{1,3}|hfi\w{1,10}|qib\w{1,10})")
_CELL: Final = compile_re(r"\[([A-Z][A-Za-z0-9]{2,40}) == (\d{1,20})\]")
# A counter warns above this.
_THRESHOLDS: Final[Mapping[str, int]] = load_data("triage.formats.health.fabric")["thresholds"]
# A counter that a port does not have is -1 or N/A, and no zero. What comes last of all:
_LAST: Final = frozenset(
    {"PortRcvPkts", "PortXmitWait", "PortUnicastRcvPkts", "PortMultiCastRcvPkts"}
)
# Not to grow within one file: the link itself is ill.
_LINK: Final = ("SymbolErrorCounter", "LinkDownedCounter", "LinkErrorRecoveryCounter")


def judge_counters(blocks: Sequence[Block], reading: Reading) -> None:
    """Counters of ports, by ``perfquery`` or as rows of ``ibqueryerrors``."""
    seen: dict[str, dict[str, int]] = {}
    for one in blocks:
        if "lid" in one:
            _judge_port(one, seen, reading)
            continue
        counts = {cell[1]: int(cell[2]) for cell in _CELL.finditer(one.get("cells"))}
        entity = one.get("entity")
        adapter = _ADAPTER_OF.fullmatch(entity)
        if one.get("place") == "ALL" or not counts or not entity:
            continue  # the sum over all ports of a switch says nothing new
        if adapter is None:
            why = f"the port of a switch, {entity[:80]!r}: it belongs to no node"
            reading.skip(one.line, why)
        else:
            part = f"{adapter[2]}/{one.get('place')}"
            _judge_counts(part, counts, one.line, adapter[1], reading)


def _judge_port(block: Block, seen: dict[str, dict[str, int]], reading: Reading) -> None:
    """One reading of one port, beside an earlier one of the same port."""
    part = f"lid {block.get('lid')}/{block.get('port')}"
    found = {name: int(block.get(name)) for name in block.values if name[0].isupper()}
    before = seen.get(part, {})
    seen[part] = found
    if found.keys() <= {"PortSelect"}:
        reading.unknown(_COUNTERS, "the list of counters breaks off", part)
        return
    line = block.line + 1  # they begin below its title
    more = {name: found[name] - before[name] for name in _LINK if name in found and name in before}
    grown = [f"{name} grew by {count}" for name, count in more.items() if count > 0]
    cut = "select" in block and _LAST.isdisjoint(found)
    if grown:
        reading.add(_COUNTERS, FAIL, part, ", ".join(grown), _NETWORK, line)
    elif cut and not any(True for _ in _iterate_above_threshold(found)):
        reading.unknown(_COUNTERS, "the list of counters breaks off", part, line)
    else:
        _judge_counts(part, found, line, None, reading)


def _iterate_above_threshold(found: Mapping[str, int]) -> Iterator[str]:
    for name, most in _THRESHOLDS.items():
        if found.get(name, 0) > most:
            yield f"{name} {found[name]:,}"


def _judge_counts(
    part: str, found: Mapping[str, int], line: int, node: str | None, reading: Reading
) -> None:
    high = ", ".join(_iterate_above_threshold(found))
    said = high or "no counter above its threshold"
    reading.add(_COUNTERS, WARN if high else PASS, part, said, _NETWORK, line, node=node)


# mlxlink -d mlx5_5 -m -c, as text or with --json: one port, its errors and its module. The device's
# own recommendation decides. Neither the node nor the device stands in it, unless the file's name
# says it. One end of a link cannot say whether the cable, the far end or this port is bad.

_MLXLINK: Final = "ib.mlxlink"
_NAMED: Final = compile_re(r"(?P<name>[A-Z][^:\n]{1,60}?)\s{1,60}: (?P<value>[^\n]{0,300})$")
_AMOUNT: Final = compile_re(r"\d{1,15}(?:\.\d{1,6})?", re.ASCII)
_DEVICE: Final = compile_re(r"mlx5_\w{1,8}")
# "Rx Power Current [dBm]  : -1.21,-0.92,-40.000,-1.05", with the limits in brackets behind it
_RX_POWER: Final = compile_re(r"(?:Rx|RX) Power Current \[dBm\]")
_DBM: Final = compile_re(r"-?\d{1,3}(?:\.\d{1,4})?", re.ASCII)
_DARK_DBM: Final = -30.0
# "64 [-10..80]": a module's temperature and its limits in degrees
_HEAT: Final = compile_re(r"(?P<now>-?\d{1,3})\s{0,4}\[-?\d{1,3}\.\.(?P<most>\d{1,3})\]")
# "-E- Failed to open device: mlx5_9"
_NOT_OPENED: Final = compile_re(r"^-E- (?P<why>[^\n]{3,200})", re.M)
# A port that nobody uses says this, and no more.
_UNUSED: Final = compile_re(
    r"\bcable is unplugged|disabled by command|port is close|no issue", re.I
)


def read_mlxlink(text: str, reading: Reading) -> None:
    values: dict[str, str] = {}
    first = 1
    for index, line in iterate_lines(text):
        found = _NAMED.match(line.rstrip())
        if found is not None:
            if found["name"] == "State" and values:
                _judge_mlxlink(values, first, reading)
                values, first = {}, index
            values.setdefault(found["name"], found["value"].strip())
    failed = _NOT_OPENED.search(text) if not values else None
    if failed is not None:
        reading.unknown(_MLXLINK, failed["why"], line=1)
        return
    _judge_mlxlink(values, first, reading)


def read_mlxlink_json(text: str, reading: Reading) -> None:
    for document in iterate_documents(text, reading):
        result = document.get("result") if isinstance(document, Mapping) else None
        output = result.get("output") if isinstance(result, Mapping) else None
        if not isinstance(output, Mapping):
            continue
        values: dict[str, str] = {}
        for section in output.values():
            if isinstance(section, Mapping):
                values.update(_iterate_values(section))
        said = values.get("Recommendation", "")
        if reading.num_not_understood and (not said or _UNUSED.search(said)):
            reading.unknown(_MLXLINK, "the document breaks off")
        else:
            _judge_mlxlink(values, 1, reading)


def _iterate_values(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            listed = value.get("values")
            parts = listed[:16] if isinstance(listed, list) else []
            value = ",".join(str(one)[:40] for one in parts)
        if isinstance(value, str | int | float):
            yield str(name), str(value)[:300].strip()


def _judge_mlxlink(values: Mapping[str, str], line: int, reading: Reading) -> None:
    """One port: what its device recommends, and its counters."""
    said = values.get("Recommendation", "")
    state = f"{values.get('State', '')}/{values.get('Physical state', '')}".strip("/")
    if not said and not state:
        reading.skip(line, "no state and no recommendation of a port")
        return
    device = _DEVICE.search(reading.artifact)
    part = device[0] if device else None
    if not said:
        reading.unknown(_MLXLINK, "breaks off before what the device recommends", part, line)
        return
    outcome, module = _judge_optical_module(values, PASS if _UNUSED.search(said) else FAIL)
    detail = said + module
    downs, minutes = (
        float(found[0]) if (found := _AMOUNT.match(values.get(name, ""))) else 0.0
        for name in ("Link Down Counter", "Time Since Last Clear [Min]")
    )  # fmt: skip
    if downs:
        since = f" in {minutes:,.0f} min" if minutes else ""
        detail += f"; link went down {downs:.0f} times{since}"
        outcome = WARN if outcome is PASS else outcome
    for name in ("Effective Physical BER", "Symbol BER"):
        detail += f"; {name} {values[name][:20]}" if values.get(name) else ""
    reading.add(_MLXLINK, outcome, part, f"{detail}; {state}", _NETWORK, line)


def _judge_optical_module(values: Mapping[str, str], outcome: Outcome) -> tuple[Outcome, str]:
    """What the module adds: a lane without light beside lanes that have it, and heat."""
    powers = next((value for name, value in values.items() if _RX_POWER.match(name)), "")
    lanes = [float(one) for one in _DBM.findall(powers.partition("[")[0])]
    dark = [str(lane) for lane, dbm in enumerate(lanes, 1) if dbm <= _DARK_DBM]
    detail = ""
    if dark and len(dark) < len(lanes):
        outcome, detail = FAIL, f"; no light on lane {', '.join(dark)} of {len(lanes)}"
    heat = _HEAT.match(values.get("Temperature [C]", ""))
    if heat is not None and int(heat["now"]) >= int(heat["most"]):
        detail += f"; the module has {heat['now']} C of {heat['most']} C"
        outcome = WARN if outcome is PASS else outcome
    return outcome, detail


# perftest: ib_write_bw and its kin, between two adapters. What bandwidth is enough is nobody's here
# to say; a transfer that ended with an error fails.

_PERFTEST: Final = "ib.perftest"


def judge_perftest(blocks: Sequence[Block], reading: Reading) -> None:
    """What one end of a transfer printed."""
    first = next((one.line for one in blocks if "title" in one), 0)
    device, why = (
        next((one.get(name) for one in reversed(blocks) if name in one), None)
        for name in ("device", "why")
    )
    table = next((place for place, one in enumerate(blocks) if "table" in one), len(blocks))
    rows = [float(value) for one in blocks[table:] for value in one.values.get("value", ())]
    failed = next((one for one in blocks if "error" in one), None)
    if failed is not None:
        reading.add(_PERFTEST, FAIL, device, failed.get("error"), _NETWORK, failed.line)
    elif not rows:
        reading.unknown(_PERFTEST, why or "it did not come to a result", device, first)
    else:
        said = f"{max(rows):g} at most in {len(rows)} rows"
        reading.add(_PERFTEST, PASS if max(rows) > 0 else FAIL, device, said, _NETWORK, first)


# ethtool of one interface: its link.

_ETH_LINK: Final = "eth.link"
_SPEED: Final = compile_re(r"(\d{1,7})Mb/s")
_DETECTED: Final = compile_re(r"(yes|no)\b(.{0,80})")
# "400000baseSR8/Full": the fastest mode that the port supports says which ports are alike
_MODE: Final = compile_re(r"(\d{1,7})base\w{1,12}/(?:Full|Half)")


class _Interface(NamedTuple):
    """One interface; speeds in Mb/s, ``kind`` that of the fastest mode that it supports."""

    name: str
    line: int
    kind: int
    speed: int | None
    link: str
    why: str


def _read_interface(block: Block) -> _Interface:
    kind, speed, link, why = 0, None, "", ""
    for one in block.inner:
        if (rate := _SPEED.match(one.get("speed"))) is not None:
            speed = int(rate[1])
        elif (up := _DETECTED.match(one.get("link detected"))) is not None:
            link, why = up[1], up[2].rstrip()
        elif "supported link modes" in one:
            modes = " ".join([one.get("supported link modes"), *one.values.get("more", [])])
            kind = max([kind, *map(int, _MODE.findall(modes))])
    return _Interface(block.get("name"), block.line, kind, speed, link, why)


def judge_interfaces(blocks: Sequence[Block], reading: Reading) -> None:
    found = [_read_interface(one) for one in blocks if one.level == 1]
    top: dict[int, int] = defaultdict(int)
    for one in found:
        if one.link == "yes":
            top[one.kind] = max(top[one.kind], one.speed or 0)
    for one in found:
        best = top.get(one.kind, 0)
        outcome, detail = PASS, f"link at {one.speed or 0:,} Mb/s"
        if not one.link:
            why = "breaks off before it says whether there is a link"
            reading.unknown(_ETH_LINK, why, one.name, one.line)
            continue
        if one.link == "no":
            outcome = FAIL if best else WARN
            unused = "" if best else "; no other of its kind has one, it may be unused"
            detail = f"no link{one.why}{unused}"
        elif one.speed is not None and one.speed < best:
            outcome, detail = FAIL, f"{one.speed:,} of {best:,} Mb/s"
        reading.add(_ETH_LINK, outcome, one.name, detail, _NETWORK, one.line)


# ethtool -S: which interface it was is in the command line, a heading or the file's name.

_ASKED: Final = compile_re(
    r"ethtool[ _]-(?:S|m|-statistics|-module-info)[ _](?P<name>[\w.@-]{1,32})"
    r"|(?:^|[^\w.-])(?P<bare>(?:en|eth|ib|bond|roce)[a-z0-9]{1,14})[:\s]*$"
)
_ETH_COUNTERS: Final = "eth.counters"
# Of the wire itself: frames and symbols that came damaged, and links that went down.
_OF_THE_WIRE: Final = compile_re(
    r"(?:rx_)?(?:crc_errors?(?:_phy)?|crc|symbol_err(?:ors?)?_phy|pcs_symbol_err_phy|fcs_err\w{0,12})"
    r"|rx_crc_err\w{0,8}|rx_fcs_err\w{0,8}|(?:port\.)?(?:rx_)?crc_errors(?:\.nic)?|rx_err_lane_\d_phy"
    r"|(?:total_)?link_down_events(?:_phy)?|module_(?:bus_stuck|high_temp|bad_shorted)"
    r"|(?:rx|tx)_pci_signal_integrity|rx_undersize_pkts_phy", re.I
)  # fmt: skip
_MOST: Final = 10


def _find_interface(block: Block, reading: Reading) -> str | None:
    """The interface that a line above a block names, else the file's name."""
    found = _ASKED.search(reading.artifact)
    return block.get("asked") or (None if found is None else found["name"] or found["bare"])


def judge_statistics(blocks: Sequence[Block], reading: Reading) -> None:
    """Each reading of one interface, beside an earlier one of the same."""
    before: dict[str | None, dict[str, int]] = {}
    for one in blocks:
        name, line = _find_interface(one, reading), one.line
        counts = {key: int(one.get(key)) for key in one.values if key != "asked"}
        wire = {
            key: count
            for key, count in counts.items()
            if count >= 0 and _OF_THE_WIRE.fullmatch(key)  # -1: not counted
        }
        known = before.get(name)
        before[name] = wire
        if not wire:
            listed = any(count >= 0 for count in counts.values())
            why = (
                "no counter of the wire is among them"
                if listed
                else "the list of counters breaks off"
            )
            reading.unknown(_ETH_COUNTERS, why, name, line)
            continue
        more = {key: count - known[key] for key, count in wire.items() if known and key in known}
        grown = [f"{key} grew by {count:,}" for key, count in more.items() if count > 0]
        high = [f"{key} {count:,}" for key, count in wire.items() if count > _MOST]
        outcome = FAIL if grown else WARN if high and known is None else PASS
        said = ", ".join(grown or high) or "no error of the wire"
        reading.add(_ETH_COUNTERS, outcome, name, said, _NETWORK, line)


# ethtool -m: of a module the alarms count. One lane without light beside lanes that have it is a
# bad module or a dirty fibre; no light on any lane is a cable that is not plugged in.

_ETH_MODULE: Final = "eth.module"
_SILENT: Final = compile_re(r"input/output|timed? ?out|remote i/o", re.I)
_DARK_MW: Final = 0.001
"""-30 dBm: below it there is no light."""


def judge_modules(blocks: Sequence[Block], reading: Reading) -> None:
    """The modules of ``ethtool -m``, and such as could not be read."""
    for one in (block for block in blocks if block.level == 1):
        name, why = _find_interface(one, reading), one.get("failed")
        if not why:
            _judge_module(one, name, reading)
        elif _SILENT.search(why):  # a port that has no module says nothing
            said = f"the module does not answer: {why}"
            reading.add(_ETH_MODULE, WARN, name, said, _NETWORK, one.line)
        else:
            reading.unknown(_ETH_MODULE, why, name, one.line)


def _judge_module(module: Block, name: str | None, reading: Reading) -> None:
    lanes = {one.get("lane") or "1": float(one.get("mw")) for one in module.inner if "mw" in one}
    flags = [one for one in module.inner if "flag" in one]
    on: dict[str, list[str]] = {"alarm": [], "warning": []}
    for one in flags:
        lane = f" of lane {one.get('lane')}" if "lane" in one else ""
        words = " ".join(one.get("flag").split())
        on[one.get("grade")] += [f"{words}{lane}"] if one.get("state") == "On" else []
    dark = sorted((lane for lane, mw in lanes.items() if mw < _DARK_MW), key=int)
    if lanes and len(dark) == len(lanes):
        outcome, said = WARN, "no light on any lane: not plugged in, or the far end is off"
    elif dark:
        outcome, said = FAIL, f"no light on lane {', '.join(dark)} of {len(lanes)}"
    elif on["alarm"] or on["warning"]:
        outcome = FAIL if on["alarm"] else WARN
        said = ", ".join(on["alarm"] or on["warning"])
    elif flags:
        outcome, said = PASS, "no alarm"
    else:
        copper = any("copper" in one for one in (module, *module.inner))
        why = "it measures nothing" if copper else "no alarm of it is listed"
        reading.unknown(_ETH_MODULE, why, name, module.line)
        return
    reading.add(_ETH_MODULE, outcome, name, said, _NETWORK, module.line)
