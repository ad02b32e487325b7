"""What happened before the job and is over: repaired faults, links that came back, boots."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.perturb.harmless import Sentence, filled
from simulator.perturb.incident import Incident
from simulator.perturb.noise import DAY_NS, anchor, kernel_logs, said, with_lines
from simulator.perturb.placing import Line, Placed
from simulator.perturb.stamps import SECOND_NS
from simulator.perturb.transformation import EVERYTHING, Keep

_HOUR_NS: Final = 3600 * SECOND_NS

# Of days ago; the node has been repaired or mended itself, and has run jobs since.
_FAULTS: Final[tuple[Sentence, ...]] = (
    (None, "NVRM: Xid (PCI:0000:{bus}:00): 79, pid={pid}, name={app}, GPU has fallen off the bus."),
    (None, "NVRM: Xid (PCI:0000:{bus}:00): 48, pid={pid}, name={app}, DBE (double bit error) "
           "ECC Error"),
    (None, "nfs: server {word}-{d} not responding, still trying"),
    (None, "Out of memory: Killed process {pid} ({app}) total-vm:{n}kB, anon-rss:{n}kB, "
           "file-rss:0kB, shmem-rss:0kB, UID:{n} pgtables:{n}kB oom_score_adj:0"),
    (None, "INFO: task {app}:{pid} blocked for more than 120 seconds."),
    (None, "nvme nvme{d}: I/O {d} QID {d} timeout, aborting"),
    (None, "EDAC MC{d}: 1 UE memory read error on CPU_SrcID#{d}_MC#{d}_Chan#{d}_DIMM#{d}"),
)  # fmt: skip
_LINKS: Final[tuple[Sentence, ...]] = (
    (None, "mlx5_core 0000:{bus}:00.0 ens{d}np0: Link down"),
    (None, "mlx5_core 0000:{bus}:00.0: Port module event[error]: module 0, Cable error, "
           "Power budget exceeded"),
    (None, "mlx5_core 0000:{bus}:00.0 mlx5_{d}: Port: 1 Link DOWN"),
    (None, "infiniband mlx5_{d}: port 1 state changed from ACTIVE to DOWN"),
)  # fmt: skip
# The first minute: what the machine is, empty slots, links that train.
_BOOT: Final = (
    "pci 0000:{bus}:00.0: BAR 13: failed to assign [io  size 0x1000]",
    "pcieport 0000:{bus}:01.0: pciehp: Slot({d}): No link",
    "pci 0000:{bus}:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 "
    "link at 0000:{bus}:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
    "ACPI BIOS Error (bug): Could not resolve symbol [^PCI0.{WORD}], AE_NOT_FOUND",
    "mlx5_core 0000:{bus}:00.0: firmware version: 28.39.1002",
    "mlx5_core 0000:{bus}:00.0 ens{d}np0: Link down",
    "nvme nvme{d}: missing or invalid SUBNQN field.",
    "ata{d}: SATA link down (SStatus 0 SControl 300)",
    "systemd[1]: Failed to find module '{word}'",
    "EXT4-fs (nvme{d}n1p2): recovery complete",
    "ipmi_si IPI0001:00: Error clearing flags: c1",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
)


@dataclass(frozen=True, slots=True)
class OldFaults:
    """Faults of days ago on innocent nodes."""

    name: str = "old-faults"
    law: int = 2
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Two to six lines, two days before the stop and earlier."""
        logs = kernel_logs(incident, rng, innocent=True)
        return _before(incident, logs, _FAULTS, (48, 480), rng)


@dataclass(frozen=True, slots=True)
class OldLinks:
    """Links of innocent nodes that went and came back, hours and days before."""

    name: str = "old-links"
    law: int = 9
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Two to six lines, three hours before the stop and earlier, each with its end."""
        logs = kernel_logs(incident, rng, innocent=True)
        return _before(incident, logs, _LINKS, (3, 480), rng, ended="ens{d}np0: Link up")


@dataclass(frozen=True, slots=True)
class BootLines:
    """What an innocent node prints in its first minute, days before the stop."""

    name: str = "boot-lines"
    law: int = 11
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """At the begin of the logs of up to three nodes."""
        logs = kernel_logs(incident, rng, innocent=True)
        lines: dict[str, list[Line]] = {}
        for name in rng.sample(sorted(logs), min(3, len(logs))):
            log = logs[name]
            at_ns = log.boot_ns
            if at_ns is None:
                at_ns = min(log.times[0], anchor(incident, log) - 2 * DAY_NS) - 90 * SECOND_NS
            texts = rng.sample(_BOOT, rng.randrange(4, len(_BOOT)))
            lines[name] = [Line(at_ns, "Linux version 5.15.0-105-generic (buildd@lcy02) #1 SMP")]
            for place, text in enumerate(texts, start=1):
                lines[name].append(Line(at_ns + place * 3 * SECOND_NS, filled(text, rng)))
        return with_lines(incident, logs, lines)


def _before(
    incident: Incident,
    logs: dict[str, Placed],
    kind: Sequence[Sentence],
    hours: tuple[int, int],
    rng: random.Random,
    ended: str | None = None,
) -> Incident | None:
    """Lines of a kind so many hours before the stop, and no earlier than the log or the boot."""
    lines: dict[str, list[Line]] = {}
    for _ in range(rng.randrange(2, 7) if logs else 0):
        name = rng.choice(sorted(logs))
        stop = anchor(incident, logs[name])
        at_ns = stop - rng.randrange(*hours) * _HOUR_NS
        if logs[name].boot_ns is not None and at_ns < (logs[name].boot_ns or 0):
            continue
        lines.setdefault(name, []).append(said(kind, at_ns, rng))
        if ended is not None:
            line = Line(at_ns + 4 * SECOND_NS, f"mlx5_core 0000:4f:00.0 {filled(ended, rng)}")
            lines[name].append(line)
    return with_lines(incident, logs, lines)
