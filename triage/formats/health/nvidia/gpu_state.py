"""One GPU as ``nvidia-smi -q`` shows it, and what is wrong with that.

The state is a moment's: a counter that is not zero says that something happened since the
driver was loaded (volatile) or ever (aggregate), not when. So only what is wrong now, or
bars the GPU from work, fails; the rest warns.
"""

from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.reading import Reading

__all__ = ["GpuState", "judge"]

# Degrees below the temperature of its own slowdown at which a GPU is nearly too hot.
NEARLY_HOT_C: Final = 5
# In P0 a link runs at its full speed; an idle GPU lowers its generation to save power.
FULL_SPEED: Final = frozenset({"P0", "P1", "P2"})
NOT_IN_A_FABRIC: Final = frozenset({"n/a", "not supported", ""})
NOTHING_ASKED: Final = frozenset({"none", "n/a", ""})


@dataclass(slots=True)
class GpuState:
    """What one GPU's report says; None where it does not.

    ``gpu`` is ``dddd:bb:dd``. ``throttled`` are the reasons that are active, in lower case.
    Errors are counts; ``uncorrected`` is volatile, ``uncorrected_ever`` aggregate.
    """

    gpu: str
    line: int
    dram_uncorrected: int | None = None
    sram_uncorrected: int | None = None
    dram_uncorrected_ever: int | None = None
    sram_uncorrected_ever: int | None = None
    remapped_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    retired_double: int | None = None
    retirement_pending: bool | None = None
    throttled: tuple[str, ...] | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    link_gen: int | None = None
    link_gen_max: int | None = None
    performance_state: str | None = None
    celsius: int | None = None
    slowdown_celsius: int | None = None
    celsius_left: int | None = None
    persistence: bool | None = None
    recovery_action: str | None = None
    fabric_state: str | None = None
    fabric_status: str | None = None
    fabric_bandwidth: str | None = None
    fabric_route_unhealthy: bool | None = None


def judge(state: GpuState, reading: Reading) -> None:
    """The results of one GPU: one for each check that its report has values of."""
    one = Judge(state, reading)
    one.errors()
    one.memory_repair()
    one.throttling()
    one.link()
    one.temperature()
    one.fabric()
    one.settings()


@dataclass(slots=True)
class Judge:
    """Holds one state against what a healthy GPU shows."""

    state: GpuState
    reading: Reading

    def say(
        self, check: str, outcome: Outcome, detail: str, category: Category | None = None
    ) -> None:
        state = self.state
        self.reading.add(
            check, outcome, part=state.gpu, detail=detail, category=category, line=state.line
        )

    def errors(self) -> None:
        """Uncorrectable memory errors since the driver was loaded, and ever."""
        state = self.state
        counts = (state.dram_uncorrected, state.sram_uncorrected)
        if any(count is not None for count in counts):
            dram, sram = (count or 0 for count in counts)
            category = Category.GPU_SRAM if sram > dram else Category.GPU_HBM
            said = f"uncorrectable since the driver was loaded: DRAM {dram}, SRAM {sram}"
            self.say("gpu.ecc", Outcome.FAIL if dram + sram else Outcome.PASS, said, category)
        ever = (state.dram_uncorrected_ever, state.sram_uncorrected_ever)
        if any(count is not None for count in ever):
            dram, sram = (count or 0 for count in ever)
            category = Category.GPU_SRAM if sram > dram else Category.GPU_HBM
            said = f"uncorrectable ever: DRAM {dram}, SRAM {sram}"
            outcome = Outcome.WARN if dram + sram else Outcome.PASS
            self.say("gpu.ecc_ever", outcome, said, category)

    def memory_repair(self) -> None:
        """Rows remapped and pages retired: pending until a reset, or not possible any more."""
        state = self.state
        if state.remap_failed is not None or state.remap_pending is not None:
            rows = state.remapped_uncorrected or 0
            outcome, said = Outcome.PASS, f"{rows} rows remapped for uncorrectable errors"
            if state.remap_pending:
                outcome, said = Outcome.WARN, "a row remap is pending: reset the GPU"
            if state.remap_failed:
                outcome, said = Outcome.FAIL, "a row could not be remapped: replace the GPU"
            elif rows and outcome is Outcome.PASS:
                outcome = Outcome.WARN
            self.say("gpu.row_remap", outcome, said, Category.GPU_HBM)
        if state.retirement_pending is not None or state.retired_double is not None:
            outcome = Outcome.WARN if state.retirement_pending else Outcome.PASS
            said = f"{state.retired_double or 0} pages retired for double-bit errors"
            if state.retirement_pending:
                said += ", more are pending: reset the GPU"
            self.say("gpu.retired_pages", outcome, said, Category.GPU_HBM)

    def throttling(self) -> None:
        """A slowdown by hardware is a fault; the power cap in software is a busy GPU's rule."""
        active = self.state.throttled
        if active is None:
            return
        said = "active: " + (", ".join(active) or "none")
        if any("power brake" in reason for reason in active):
            self.say("gpu.throttle", Outcome.FAIL, said, Category.POWER)
        elif any(reason.startswith("hw") for reason in active):
            self.say("gpu.throttle", Outcome.FAIL, said, Category.GPU_THERMAL)
        elif any("thermal" in reason for reason in active):
            self.say("gpu.throttle", Outcome.WARN, said, Category.GPU_THERMAL)
        else:
            self.say("gpu.throttle", Outcome.PASS, said)

    def link(self) -> None:
        """PCIe narrower than it can be; slower only counts where the GPU is not idle."""
        state = self.state
        if state.link_width is None or state.link_width_max is None:
            return
        said = f"x{state.link_width} of x{state.link_width_max}"
        outcome = Outcome.FAIL if state.link_width < state.link_width_max else Outcome.PASS
        if state.link_gen is not None and state.link_gen_max is not None:
            said += f", generation {state.link_gen} of {state.link_gen_max}"
            slower = state.link_gen < state.link_gen_max
            if outcome is Outcome.PASS and slower and state.performance_state in FULL_SPEED:
                outcome = Outcome.WARN
        self.say("gpu.pcie_link", outcome, said, Category.IO_BOARD)

    def temperature(self) -> None:
        """Beside the temperature at which this GPU slows itself; without one nothing is said."""
        state = self.state
        left = state.celsius_left
        if left is None and state.celsius is not None and state.slowdown_celsius is not None:
            left = state.slowdown_celsius - state.celsius
        if left is None:
            return
        outcome = Outcome.WARN if left <= NEARLY_HOT_C else Outcome.PASS
        if left <= 0:
            outcome = Outcome.FAIL
        shown = "" if state.celsius is None else f"{state.celsius} C, "
        said = f"{shown}{left} C below its slowdown"
        self.say("gpu.temperature", outcome, said, Category.GPU_THERMAL)

    def fabric(self) -> None:
        """Whether the GPU has joined the fabric of its NVLink domain; N/A where there is none."""
        state = self.state
        if state.fabric_state is None or state.fabric_state.lower() in NOT_IN_A_FABRIC:
            return
        status, bandwidth = state.fabric_status or "", state.fabric_bandwidth or ""
        said = f"{state.fabric_state}, {status or 'no status'}"
        outcome = Outcome.PASS
        if bandwidth.lower() == "degraded" or state.fabric_state.lower() != "completed":
            outcome = Outcome.WARN
        if bandwidth and bandwidth.lower() not in NOTHING_ASKED:
            said += f", bandwidth {bandwidth}"
        if state.fabric_route_unhealthy:
            said += ", a route is unhealthy"
        failed = status.lower() not in ("success", *NOTHING_ASKED)
        if state.fabric_route_unhealthy or failed:
            outcome = Outcome.FAIL
        self.say("gpu.fabric", outcome, said, Category.NVLINK)

    def settings(self) -> None:
        """What the driver asks for, and persistence mode."""
        state = self.state
        if state.recovery_action is not None:
            asked = state.recovery_action.strip().lower() not in NOTHING_ASKED
            outcome = Outcome.FAIL if asked else Outcome.PASS
            said = f"the driver asks for: {state.recovery_action}"
            self.say("gpu.recovery_action", outcome, said, Category.GPU)
        if state.persistence is not None:
            outcome = Outcome.PASS if state.persistence else Outcome.WARN
            said = "persistence mode is " + ("on" if state.persistence else "off")
            self.say("gpu.persistence", outcome, said)
