"""All transformations, in the order in which they are printed."""

from simulator.perturb.bygone import BootLines, OldFaults, OldLinks
from simulator.perturb.clocks import ClocksOff, OtherZone
from simulator.perturb.looks import CutLooks, EarlierLook, StrayStacks
from simulator.perturb.loss import DroppedFiles, Flood, RewordedRoots
from simulator.perturb.noise import AlarmingAlone, AlarmingLines, ForeignLines, TeardownLines
from simulator.perturb.places import (
    CopiedLog,
    ExchangedLogs,
    MovedLog,
    OtherMap,
    OtherSpelling,
)
from simulator.perturb.shapes import Ansi, Crlf, Flat, Merged, Packed, Renamed, Shuffled, Tarred
from simulator.perturb.strangers import OtherJob
from simulator.perturb.transformation import Transformation

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
