"""Lines that move nothing: of other users, daemons, the end of the job, unknown drivers."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.perturb import harmless
from simulator.perturb.incident import Incident
from simulator.perturb.invented import alarm, driver
from simulator.perturb.placing import Line, Placed, is_kernel_log, placed
from simulator.perturb.stamps import SECOND_NS
from simulator.perturb.transformation import EVERYTHING, Keep

_MINUTE_NS: Final = 60 * SECOND_NS
DAY_NS: Final = 24 * 60 * _MINUTE_NS
_MAX_LOGS: Final = 8


@dataclass(frozen=True, slots=True)
class ForeignLines:
    """Other users' processes, daemons and corrected errors at any time, old faults of days ago."""

    name: str = "foreign-lines"
    law: int = 5
    keeps: frozenset[Keep] = EVERYTHING
    num_lines: int = 12

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """``num_lines`` lines spread over kernel logs of innocent nodes."""
        logs = kernel_logs(incident, rng, innocent=True)
        lines: dict[str, list[Line]] = {}
        for _ in range(self.num_lines if logs else 0):
            name = rng.choice(sorted(logs))
            kind = rng.choice((harmless.STRANGERS, harmless.DAEMONS, harmless.MENDED, harmless.OLD))
            if kind is harmless.OLD:
                first = logs[name].times[0]
                at_ns = max(first, anchor(incident, logs[name]) - rng.randrange(2, 20) * DAY_NS)
            else:
                at_ns = _any_time(incident, logs[name], rng)
            lines.setdefault(name, []).append(said(kind, at_ns, rng))
        return with_lines(incident, logs, lines)


@dataclass(frozen=True, slots=True)
class TeardownLines:
    """What drivers and daemons print when processes are killed, minutes after the end."""

    name: str = "teardown-lines"
    law: int = 3
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Some lines on every node, and more on one innocent node."""
        logs = kernel_logs(incident, rng, innocent=False)
        lines: dict[str, list[Line]] = {}
        guiltless = [name for name in logs if incident.node_of.get(name) in incident.innocent]
        chosen = rng.choice(sorted(guiltless)) if guiltless else None
        for name in sorted(logs):
            end = incident.end_ns or logs[name].times[-1]
            for _ in range(4 if name == chosen else rng.randrange(3)):
                at_ns = end + rng.randrange(20, 900) * SECOND_NS
                lines.setdefault(name, []).append(said(harmless.TEARDOWN, at_ns, rng))
        return with_lines(incident, logs, lines)


@dataclass(frozen=True, slots=True)
class AlarmingLines:
    """Alarming sentences of unfamiliar drivers, the same on several nodes and at several times."""

    name: str = "alarming-lines"
    law: int = 4
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Three sentences, each now and then on most innocent nodes."""
        logs = kernel_logs(incident, rng, innocent=True)
        lines: dict[str, list[Line]] = {}
        for _ in range(3):
            before, sentence = driver(rng), alarm(rng)
            for name in sorted(logs):
                for _ in range(rng.randrange(1, 4)):
                    at_ns = _any_time(incident, logs[name], rng)
                    lines.setdefault(name, []).append(Line(at_ns, before + sentence))
        return with_lines(incident, logs, lines)


@dataclass(frozen=True, slots=True)
class AlarmingAlone:
    """One alarming sentence of an unfamiliar driver, on one innocent node, at the stop."""

    name: str = "alarming-alone"
    law: int = 4
    keeps: frozenset[Keep] = frozenset({Keep.NO_INNOCENT, Keep.PROVED_NODE})

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """New there, alone there, and at the stop: worth a look, and no more."""
        logs = kernel_logs(incident, rng, innocent=True)
        if not logs or incident.start_ns is None:
            return None
        at_ns = incident.start_ns + rng.randrange(-5, 20) * SECOND_NS
        line = Line(at_ns, driver(rng) + alarm(rng))
        return with_lines(incident, logs, {rng.choice(sorted(logs)): [line]})


def kernel_logs(incident: Incident, rng: random.Random, *, innocent: bool) -> dict[str, Placed]:
    """Some logs of kernels in which lines have times: of innocent nodes alone, or of all."""
    nodes = incident.innocent if innocent else incident.nodes
    names = [name for name in incident.texts(nodes) if is_kernel_log(incident.files[name])]
    if len(names) > _MAX_LOGS:
        names = rng.sample(names, _MAX_LOGS)
    logs = {name: placed(incident.files[name], incident.end_ns) for name in names}
    return {name: log for name, log in logs.items() if log.span is not None}


def anchor(incident: Incident, log: Placed) -> int:
    """When the job stopped, as far as anything tells."""
    return incident.start_ns or incident.end_ns or log.times[-1]


def _any_time(incident: Incident, log: Placed, rng: random.Random) -> int:
    """Over the span of a log, minutes before the stop, in it, or after the end."""
    first, last = log.times[0], log.times[-1]
    start = anchor(incident, log)
    end = max(incident.end_ns or start, start)
    match rng.randrange(4):
        case 0:
            return rng.randrange(first, last + 1)
        case 1:
            return start - rng.randrange(1, 600) * SECOND_NS
        case 2:
            return rng.randrange(start - 5 * SECOND_NS, end + 5 * SECOND_NS)
        case _:
            return end + rng.randrange(1, 1800) * SECOND_NS


def said(kind: Sequence[harmless.Sentence], at_ns: int, rng: random.Random) -> Line:
    """One harmless sentence of this kind as a line of a log, at ``at_ns``."""
    program, text = rng.choice(kind)
    if program is not None and program != "systemd":
        program = f"{program}[{rng.randrange(500, 60_000)}]"
    elif program is not None:
        program = "systemd[1]"
    return Line(at_ns, harmless.filled(text, rng), program)


def with_lines(
    incident: Incident, logs: dict[str, Placed], lines: dict[str, list[Line]]
) -> Incident | None:
    """The incident with more lines in some logs; None where no log takes them."""
    changed = {name: logs[name].with_lines(more) for name, more in lines.items()}
    made = {name: data for name, data in changed.items() if data is not None}
    return incident.with_files(made) if made else None
