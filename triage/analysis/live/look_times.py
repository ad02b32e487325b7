"""When looks were taken, beside the job's own log: by content and names of files, else of folders.

Most tools print no time, and names hold that of the cluster, in no zone: it is that of the job's
log, which prints none either.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.live.gpus.gpu_activity import GpuActivity, classify_activity
from triage.domain.evidence import Stamp
from triage.domain.live.look import Look, Tool
from triage.parsers.live.file_names import stamp_of_name
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.stamps import DAY_NS, SECOND_NS

# Clocks of zones are ahead of UTC, or behind it, by less.
_MOST_AHEAD_NS: Final = 15 * 3600 * SECOND_NS
_LIVE_KINDS: Final = frozenset({LogKind.LIVE, LogKind.CHECKS, LogKind.TELEMETRY})


def with_times_of_folders(looks: Sequence[Look], files: Sequence[LogFile]) -> list[Look]:
    """``looks``, the undated ones with the time in the name of the innermost folder that has one.

    A folder in which logs lie too is that of a run: its name tells when that began.
    """
    logs = [file.artifact for file in files if file.kind not in _LIVE_KINDS]
    stamps: dict[str, Stamp | None] = {"": None}

    def stamp_of(folder: str) -> Stamp | None:
        if folder not in stamps:
            above, _, name = folder.rpartition("/")
            stamp = stamp_of_name(name)
            if stamp is not None and any(log.startswith(f"{folder}/") for log in logs):
                stamp = None
            stamps[folder] = stamp if stamp is not None else stamp_of(above)
        return stamps[folder]

    dated = []
    for look in looks:
        stamp = None
        if look.stamp.wall_ns is None:
            stamp = stamp_of(look.artifact.rpartition("/")[0])
        dated.append(look if stamp is None else replace(look, stamp=stamp, dated_by="name"))
    return dated


@dataclass(frozen=True, slots=True)
class LocalClock:
    """How far the clock of times without a zone is ahead of UTC.

    ``sure`` is whether the job's log prints no zone either: then both are of one clock.
    """

    ahead_ns: int = 0
    sure: bool = False

    def time_of(self, look: Look) -> int | None:
        """When a look was taken, in UTC; None where nothing says it, or where it shows no moment.

        GPUs are of a moment of the job only while they are busy.
        """
        if look.tool is Tool.INSPECTOR:
            return None  # it tells of many operations
        if look.gpus and not any(classify_activity(one) in _BUSY for one in look.gpus):
            return None
        sampled = [one.at_ns for one in look.gpus if one.at_ns is not None]
        if sampled:
            return max(sampled)
        at_ns = look.stamp.wall_ns
        if at_ns is None:
            return None
        zone_s = look.stamp.zone_s
        return at_ns - (self.ahead_ns if zone_s is None else zone_s * SECOND_NS)

    def is_sure(self, look: Look) -> bool:
        """Whether the zone of a look's time is known."""
        in_utc = look.stamp.zone_s is not None or any(one.at_ns is not None for one in look.gpus)
        return self.sure or in_utc


_BUSY: Final = frozenset({GpuActivity.SPINS, GpuActivity.WORKS})


def find_local_clock(files: Sequence[LogFile]) -> LocalClock:
    """The clock of times without a zone, by the job logs; UTC where these do not tell."""
    printed: list[int] = []
    for file in sorted(files, key=lambda one: one.artifact):
        stamp, at_ns = file.last_stamp, file.last_at_ns
        if file.kind is not LogKind.JOB or stamp.wall_ns is None or at_ns is None:
            continue
        if stamp.zone_s is None:
            ahead_ns = stamp.wall_ns - at_ns
            if not stamp.has_year:
                ahead_ns = (ahead_ns + DAY_NS // 2) % DAY_NS - DAY_NS // 2
            if abs(ahead_ns) < _MOST_AHEAD_NS:
                return LocalClock(ahead_ns, sure=True)
        else:
            printed.append(stamp.zone_s * SECOND_NS)
    return LocalClock(printed[0] if printed else 0)
