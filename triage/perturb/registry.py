"""All transformations, in the order in which they are printed."""

from triage.perturb.bygone import BootLines, OldFaults, OldLinks
from triage.perturb.clocks import ClocksOff, OtherZone
from triage.perturb.looks import CutLooks, EarlierLook, StrayStacks
from triage.perturb.loss import DroppedFiles, Flood, RewordedRoots
from triage.perturb.noise import AlarmingAlone, AlarmingLines, ForeignLines, TeardownLines
from triage.perturb.places import (
    CopiedLog,
    ExchangedLogs,
    MovedLog,
    OtherMap,
    OtherSpelling,
)
from triage.perturb.shapes import Ansi, Crlf, Flat, Merged, Packed, Renamed, Shuffled, Tarred
from triage.perturb.strangers import OtherJob
from triage.perturb.transformation import Transformation

__all__ = ["ALL", "named"]

ALL: tuple[Transformation, ...] = (
    ForeignLines(), TeardownLines(), AlarmingLines(), AlarmingAlone(),
    OldFaults(), OldLinks(), BootLines(), OtherJob(), Flood(),
    DroppedFiles(), RewordedRoots(), ClocksOff(), OtherZone(),
    OtherMap(), MovedLog(), CopiedLog(), ExchangedLogs(), OtherSpelling(),
    StrayStacks(), CutLooks(), EarlierLook(),
    Renamed(), Flat(), Tarred(), Packed(), Shuffled(), Crlf(), Ansi(), Merged(),
)  # fmt: skip


def named(name: str) -> Transformation:
    """The transformation of that name; raises :class:`KeyError` where there is none."""
    return {transformation.name: transformation for transformation in ALL}[name]
