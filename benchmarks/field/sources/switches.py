"""Fabric: UFM's event log, opensm, fabric manager, and switches of three vendors."""

# ruff: noqa: E501
import datetime as dt
import random

from benchmarks.field.nodes import Node


def _w(at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at, dt.UTC)


def ufm(rows: list[tuple[float, str, str, str, str]]) -> str:
    """UFM's event.log: time, id, severity, site, object, text."""
    out = []
    for i, (at, severity, kind, what, text) in enumerate(sorted(rows)):
        w = _w(at)
        out.append(
            f"{w:%Y-%m-%d %H:%M:%S}.{w.microsecond // 1000:03d} [{70211 + i}] [{kind}] {severity} [{'Hardware' if 'Link' in text else 'Communication Error'}] {what}: {text}"
        )
    return "\n".join(out) + "\n"


def ufm_noise(rng: random.Random, at: float) -> list[tuple[float, str, str, str, str]]:
    """Counters that healthy fabrics cross all day."""
    rows = []
    for _ in range(rng.randrange(5, 16)):
        leaf, port = rng.randrange(1, 30), rng.randrange(1, 64)
        rows.append((at - rng.uniform(0, 20000), rng.choice(["WARNING", "MINOR", "INFO"]), str(rng.choice([116, 110, 144, 328, 336])), f"Switch: MF0;qm-leaf{leaf:02d}:MQM9700/U1 port {port}", rng.choice([
            f"Port Xmit Wait Congestion Control threshold exceeded. Threshold is 100, received value is {rng.randrange(101, 9000)}",
            f"PortXmitDiscards counter threshold exceeded. Threshold is 200, received value is {rng.randrange(201, 900)}",
            "Cable temperature is above normal range: 61C",
            "Traffic congestion detected on the port",
        ])))  # fmt: skip
    return rows


def opensm(rows: list[tuple[float, str]]) -> str:
    """opensm.log."""
    out = []
    for at, text in sorted(rows):
        w = _w(at)
        out.append(f"{w:%b %d %H:%M:%S} {w.microsecond:06d} [6F3FF700] 0x02 -> {text}")
    return "\n".join(out) + "\n"


def fabric_manager(rows: list[tuple[float, str, str]]) -> str:
    """/var/log/fabricmanager.log."""
    return (
        "\n".join(
            f"[{_w(at):%b %d %Y %H:%M:%S}] [{level}] [tid 2871] {text}"
            for at, level, text in sorted(rows)
        )
        + "\n"
    )


def sonic(name: str, rows: list[tuple[float, str]]) -> str:
    """A SONiC switch's syslog."""
    out = []
    for at, text in sorted(rows):
        w = _w(at)
        out.append(f"{w:%Y %b} {w.day:2d} {w:%H:%M:%S}.{w.microsecond:06d} {name} {text}")
    return "\n".join(out) + "\n"


def eos(name: str, rows: list[tuple[float, str]]) -> str:
    """An Arista switch's log."""
    return "\n".join(f"{_w(at):%b %d %H:%M:%S} {name} {text}" for at, text in sorted(rows)) + "\n"


def link_story(
    rng: random.Random, n: Node, nic: int, at: float, leaf: str, flaps: int, up_again: bool
) -> tuple[str, str]:
    """(file name, text): the switch's side of a link to a node that goes down."""
    dev, iface, _ = n.nic(nic)
    port = rng.randrange(1, 64)
    times = [at + i * 7.3 for i in range(flaps)]
    if n.platform.link == "ib":
        if rng.random() < 0.6:
            rows = ufm_noise(rng, at)
            for t in times:
                rows.append(
                    (
                        t,
                        "CRITICAL",
                        "329",
                        f"Switch: MF0;{leaf}:MQM9700/U1 port {port}",
                        f"Link went down: (Switch {leaf} Port {port}) - (Host {n.name} {dev} Port 1), cause: {rng.choice(['Cable unplugged', 'Effective BER above threshold', 'local_fault', 'Signal detect lost'])}",
                    )
                )
                if up_again:
                    rows.append(
                        (
                            t + 3,
                            "INFO",
                            "328",
                            f"Switch: MF0;{leaf}:MQM9700/U1 port {port}",
                            f"Link went up: (Switch {leaf} Port {port}) - (Host {n.name} {dev} Port 1)",
                        )
                    )
            return "ufm/event.log", ufm(rows)
        text: list[tuple[float, str]] = [
            (at - 4000, "osm_ucast_mgr_process: ar_updn tables configured on all switches"),
            (at - 3999, "SUBNET UP"),
        ]
        for t in times:
            text.append(
                (
                    t,
                    f"log_notice: Reporting Generic Notice type:1 num:128 (Link state change) from LID:{rng.randrange(2, 400)} GUID:0x{rng.getrandbits(64):016x}",
                )
            )
            text.append(
                (
                    t + 0.6,
                    f"osm_drop_mgr_process: Removed port with GUID:0x{rng.getrandbits(64):016x} LID range {rng.randrange(2, 400)} of node:{n.name} {dev}",
                )
            )
        return "opensm.log", opensm(text)
    name = f"tor-{leaf}"
    if rng.random() < 0.5:
        rows2: list[tuple[float, str]] = [
            (at - 2000, "INFO bgp#bgpcfgd: Peer 10.1.1.1 admin state is up"),
            (at - 900, "NOTICE pmon#xcvrd: Publishing ASIC-side SI setting for port Ethernet8"),
        ]
        for t in times:
            rows2.append(
                (
                    t,
                    f"NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet{port * 8} oper state set from up to down",
                )
            )
            rows2.append(
                (
                    t + 0.01,
                    f"WARNING syncd: :- Ethernet{port * 8} (alias {n.name}:{iface}) link down, reason {rng.choice(['REMOTE_FAULT', 'SIGNAL_LOST', 'FEC_SYNC_LOSS'])}",
                )
            )
            if up_again:
                rows2.append(
                    (
                        t + 4,
                        f"NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet{port * 8} oper state set from down to up",
                    )
                )
        return f"switches/{name}.log", sonic(name, rows2)
    rows3: list[tuple[float, str]] = [
        (at - 800, "Lldp: %LLDP-5-NEIGHBOR_NEW: LLDP neighbor added on interface Ethernet3/1")
    ]
    for t in times:
        rows3.append(
            (
                t,
                f"Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet{port}/1 ({n.name} {iface}), changed state to down",
            )
        )
        rows3.append(
            (
                t + 0.2,
                f"XcvrAgent: %PHY-4-LINK_FAULT: Ethernet{port}/1 (to {n.name}): local fault, PCS lost",
            )
        )
        if up_again:
            rows3.append(
                (
                    t + 5,
                    f"Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet{port}/1 ({n.name} {iface}), changed state to up",
                )
            )
    return f"switches/{name}.log", eos(name, rows3)
