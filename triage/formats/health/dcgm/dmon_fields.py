"""The fields of ``dcgmi dmon`` that say something of a part, by the tag in its header.

Tags and numbers for ``-e`` are those of ``dcgm_fields.cpp`` of DCGM 2.4 to 4.6; a tag that left
the table in 4.6 (``EDVDV``) is here too. What grows between two rows is judged as DCGM's own
health watch judges it (``DcgmHealthWatch.cpp``): a replay or a recovery of an NVLink fails, and
CRC errors warn below 100 a second. Rows are a second apart unless ``-d`` says otherwise.

Utilisation, clocks, temperatures and corrected errors of memory are not here: alone they say
nothing of a part. Neither are the bits of the fabric's health mask and of error rates.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import EvidenceRole
from triage.domain.health import Outcome
from triage.signatures.gpu.catalogue import SXid, Xid, sxid, xid

__all__ = ["FIELDS", "Field", "Judgement"]

PASS, WARN, FAIL = Outcome.PASS, Outcome.WARN, Outcome.FAIL
HBM, SRAM, NVLINK = Category.GPU_HBM, Category.GPU_SRAM, Category.NVLINK
# CRC errors in a row from which DCGM fails a link (DCGM_LIMIT_MAX_NVLINK_CRC_ERROR, per second).
MANY_CRC_ERRORS: Final = 100


class Judgement(NamedTuple):
    """What a value says: how bad it is, in words, and of which part."""

    outcome: Outcome
    words: str
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """How one field is judged: ``value`` is the outcome of a value that is not 0, and
    ``growth`` that of a row that has more than the row before.

    ``many`` is the growth from one row to the next that fails, 0 where none does. ``meaning``
    judges values that are codes, in the place of ``value``.
    """

    check: str
    words: str
    category: Category
    value: Outcome = PASS
    growth: Outcome = PASS
    many: int = 0
    meaning: Callable[[int], Judgement] | None = None

    def of_value(self, number: int) -> Judgement:
        """What a value says alone."""
        if self.meaning is not None:
            return self.meaning(number)
        outcome = self.value if number else PASS
        return Judgement(outcome, f"{self.words}: {number:,}", self.category)

    def of_growth(self, grown: int, most: int) -> Judgement:
        """What growth says: ``grown`` in all rows, ``most`` from one row to the next."""
        outcome = FAIL if self.many and most >= self.many else self.growth
        return Judgement(
            outcome if grown else PASS, f"{self.words} grew by {grown:,}", self.category
        )


def code(
    name: str, known: Callable[[int], Xid | SXid | None], worst: Outcome
) -> Callable[[int], Judgement]:
    """Judges numbers of a driver: the last one that DCGM saw, 0 for none."""

    def meaning(number: int) -> Judgement:
        if number == 0:
            return Judgement(PASS, f"no {name}")
        entry = known(number)
        if entry is None:
            return Judgement(WARN, f"{name} {number}, which no catalogue knows")
        of_part = entry.category in HARDWARE and entry.role is EvidenceRole.ROOT
        outcome = worst if of_part else WARN
        return Judgement(outcome, f"{name} {number}: {entry.meaning}", entry.category)

    return meaning


def states(
    words: str, category: Category, bad: Mapping[int, tuple[Outcome, str]]
) -> Callable[[int], Judgement]:
    """Judges a number that stands for a state; states that are not listed are good."""

    def meaning(number: int) -> Judgement:
        outcome, state = bad.get(number, (PASS, f"state {number}"))
        return Judgement(outcome, f"{words}: {state}", category)

    return meaning


# Bits of DCGM_CLOCKS_EVENT_REASON_*; the software's power cap (4) is a busy GPU's rule.
SLOWED: Final = (
    (0x80, FAIL, "power brake", Category.POWER),
    (0x40, FAIL, "hardware thermal slowdown", Category.GPU_THERMAL),
    (0x08, FAIL, "hardware slowdown", Category.GPU_THERMAL),
    (0x20, WARN, "software thermal slowdown", Category.GPU_THERMAL),
)


def slowed(mask: int) -> Judgement:
    """Why clocks are lower than they could be."""
    for bit, outcome, words, category in SLOWED:
        if mask & bit:
            return Judgement(outcome, f"slowed down: {words}", category)
    return Judgement(PASS, "no slowdown by heat or hardware")


def recovery_action(number: int) -> Judgement:
    """What the driver asks for, as ``nvmlDeviceGpuRecoveryAction_t`` counts it."""
    actions = {1: "reset the GPU", 2: "reboot the node", 3: "drain peers", 4: "drain and reset"}
    if number == 0:
        return Judgement(PASS, "the driver asks for nothing")
    asked = actions.get(number, f"action {number}")
    return Judgement(FAIL, f"the driver asks for: {asked}", Category.GPU)


def memory_fields() -> Iterator[tuple[str, Field]]:
    """Double-bit errors by place, remapped rows and retired pages."""
    places = (
        ("TL", "TL", "", HBM), ("DV", "DV", " of device memory", HBM),
        ("L1", "L1", " of the L1 cache", SRAM), ("L2", "L2", " of the L2 cache", SRAM),
        ("RG", "RG", " of registers", SRAM), ("TX", "TX", " of texture memory", SRAM),
        ("SHM", "SHM", " of shared memory", SRAM), ("CBU", "CBU", " of the CBU", SRAM),
        ("SRM", "SRM", " of SRAM", SRAM),
    )  # fmt: skip
    for volatile, ever, place, category in places:
        # EDVTL and EDATL, but EDVSRM and EDDSRM.
        of_ever = f"EDD{ever}" if len(ever) > 2 else f"EDA{ever}"
        since = f"double-bit errors{place} since the driver was loaded"
        yield f"EDV{volatile}", Field("ecc", since, category, value=FAIL, growth=FAIL)
        words = f"double-bit errors{place} ever"
        yield of_ever, Field("ecc_ever", words, category, value=WARN, growth=FAIL)
    remap = "row_remap"
    yield "URMPS", Field(remap, "rows remapped for uncorrectable errors", HBM, WARN, FAIL)
    yield "RRP", Field(remap, "a row remap is pending, reset the GPU", HBM, value=WARN)
    yield "RRF", Field(remap, "a row could not be remapped, replace the GPU", HBM, value=FAIL)
    yield "MEMUNR", Field(remap, "memory that cannot be repaired", HBM, value=FAIL)
    pages = "retired_pages"
    yield "RPDBE", Field(pages, "pages retired for double-bit errors", HBM, growth=FAIL)
    yield "RPPEN", Field(pages, "pages wait to be retired, reset the GPU", HBM, value=WARN)


LINKS: Final = 18
"""NVLinks of a GPU that have fields of their own."""


def link_fields() -> Iterator[tuple[str, Field]]:
    """Counters of NVLinks and of the ports of NVSwitches."""

    def errors(words: str, value: Outcome, growth: Outcome, many: int = 0) -> Field:
        return Field("nvlink_errors", words, NVLINK, value, growth, many)

    crc = ("NLCRC", "NVLFCE", "NVLDCE", "SWLNKFL", "SWLNKCR", *(f"SWLACR{k}" for k in range(8)))
    kinds: tuple[tuple[str, str, Outcome, Outcome, int, tuple[str, ...]], ...] = (
        ("NFEL", "flit CRC errors", PASS, WARN, MANY_CRC_ERRORS, ()),
        ("NDEL", "data CRC errors", PASS, WARN, MANY_CRC_ERRORS, ()),
        ("NREL", "replays", PASS, FAIL, 0, ("NLREP", "NVLRPE", "SWLNKRP")),
        ("NRCL", "recoveries", WARN, FAIL, 0, ("NLREC", "NVLRCE", "SWLNKRC")),
    )
    for tag, words, value, growth, many, others in kinds:
        for link in range(LINKS):
            yield f"{tag}{link}", errors(f"link {link} {words}", value, growth, many)
        for name in (f"{tag}T", *others):
            yield name, errors(words, value, growth, many)
    for name in crc:
        yield name, errors("CRC errors", PASS, WARN, MANY_CRC_ERRORS)
    # NVLink 5: the health watch fails on one more of each.
    for name, words in (
        ("NLMALP", "malformed packets"), ("NLBUFO", "packets dropped, buffers full"),
        ("NLRCVE", "packets received with errors"), ("NLRCVRE", "remote errors"),
        ("NLRCVGE", "general receive errors"), ("NLLLIE", "local integrity errors"),
        ("NLSYME", "symbol errors"), ("NLEFE", "effective errors"), ("NLEDECT", "ECC errors"),
        ("NLLR", "recoveries"), ("NLLNKDOWN", "times that the link went down"),
    ):  # fmt: skip
        yield name, errors(words, PASS, FAIL)
    for name in ("NLLRS", "NLRECOVER", "NLPHYREC"):
        yield name, errors("successful recoveries", PASS, WARN)
    yield "NLLRF", errors("failed recoveries", WARN, FAIL)
    yield "SWLNKFE", Field("nvlink_errors", "fatal error of a port", NVLINK, value=FAIL)
    yield "SWLNKNF", Field("nvlink_errors", "error of a port, not fatal", NVLINK, value=WARN)
    lost = {1: (FAIL, "a link needs recovery"), 2: (FAIL, "a link has a fatal error")}
    words = "NVLink errors"
    yield "GNVERR", Field("nvlink_state", words, NVLINK, meaning=states(words, NVLINK, lost))


def other_fields() -> Iterator[tuple[str, Field]]:
    """Numbers of drivers, the fabric, slowdowns and PCIe."""
    gpu, thermal, power = Category.GPU, Category.GPU_THERMAL, Category.POWER
    yield "XIDER", Field("xid", "Xid", gpu, meaning=code("Xid", xid, FAIL))
    yield "SEN00", Field("sxid", "SXid", NVLINK, meaning=code("fatal SXid", sxid, FAIL))
    yield "SEN01", Field("sxid", "SXid", NVLINK, meaning=code("SXid", sxid, WARN))
    yield "GPURECOV", Field("recovery_action", "", gpu, meaning=recovery_action)
    words = "fabric manager"
    manager = {1: (WARN, "not started"), 2: (WARN, "in progress"), 4: (FAIL, "failed")}
    yield "FMSTA", Field("fabric", words, NVLINK, meaning=states(words, NVLINK, manager))
    words = "health of the fabric"
    health = {2: (FAIL, "unhealthy"), 3: (WARN, "limited capacity")}
    yield "FMHSUM", Field("fabric", words, NVLINK, meaning=states(words, NVLINK, health))
    yield "DVCCTR", Field("throttle", "", thermal, meaning=slowed)
    for tag, words, category, growth in (
        ("CLKHWTHNS", "ns of hardware thermal slowdown", thermal, FAIL),
        ("CLKEPBSNS", "ns of power brake", power, FAIL),
        ("CLKSWTHNS", "ns of software thermal slowdown", thermal, WARN),
        ("TVIOL", "ns of thermal violation", thermal, WARN),
        ("PVIOL", "ns of power violation", power, WARN),
        ("BLVIO", "ns of board limit violation", power, WARN),
        ("RVIOL", "ns of reliability violation", gpu, WARN),
    ):
        yield tag, Field("throttle", words, category, growth=growth)
    for tag, words in (("RPCTR", "PCIe replays"), ("PCIECOER", "corrected PCIe errors")):
        yield tag, Field("pcie_replay", words, Category.IO_BOARD, growth=WARN)


FIELDS: Final[Mapping[str, Field]] = dict((*memory_fields(), *link_fields(), *other_fields()))
