"""One GPU as ``nvidia-smi`` shows it, and what is wrong with that.

The state is a moment's: a counter that is not zero says that something happened since the
driver was loaded (volatile) or ever (aggregate), not when. So only what is wrong now, or
bars the GPU from work, fails; the rest warns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.reading import FAIL, PASS, WARN, Reading

# Degrees below the temperature of its own slowdown at which a GPU is nearly too hot.
_NEARLY_HOT_C: Final = 5
# In P0 a link runs at its full speed; an idle GPU lowers its generation to save power.
_FULL_SPEED: Final = frozenset({"P0", "P1", "P2"})
_NOT_IN_A_FABRIC: Final = frozenset({"n/a", "not supported", ""})
_NOTHING_ASKED: Final = frozenset({"none", "n/a", ""})
_Said = tuple[str, Outcome, str, Category | None]


@dataclass(slots=True)
class GpuState:
    """What one GPU's report says, by the names of ``smi.toml``; None where it does not.

    ``gpu`` is ``dddd:bb:dd``. ``throttled`` are the reasons that are active, in lower case.
    Errors are counts; ``uncorrected`` is volatile, ``uncorrected_ever`` aggregate.
    """

    gpu: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    throttled: tuple[str, ...] | None = None

    def put(self, name: str, value: object) -> None:
        """Keeps a value that is known."""
        if value is not None:
            self.values[name] = value

    def get(self, name: str) -> Any:
        """A value, None where the report has none."""
        return self.values.get(name)


def judge(state: GpuState, reading: Reading) -> None:
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
            reading.add(check, outcome, state.gpu, said, category, state.line)


def judge_errors(state: GpuState) -> Iterator[_Said]:
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


def _judge_memory_repair(state: GpuState) -> Iterator[_Said]:
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


def judge_throttling(state: GpuState) -> Iterator[_Said]:
    """A slowdown by hardware is a fault; the power cap in software is a busy GPU's rule."""
    active = state.throttled
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


def link(state: GpuState) -> Iterator[_Said]:
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


def judge_temperature(state: GpuState) -> Iterator[_Said]:
    """Beside the temperature at which this GPU slows itself; without one nothing is said."""
    left, now, slowdown = map(state.get, ("celsius_left", "celsius", "slowdown_celsius"))
    if left is None and now is not None and slowdown is not None:
        left = slowdown - now
    if left is None:
        return
    outcome = FAIL if left <= 0 else WARN if left <= _NEARLY_HOT_C else PASS
    said = f"{'' if now is None else f'{now} C, '}{left} C below its slowdown"
    yield "gpu.temperature", outcome, said, Category.GPU_THERMAL


def judge_fabric(state: GpuState) -> Iterator[_Said]:
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


def _judge_settings(state: GpuState) -> Iterator[_Said]:
    """What the driver asks for, and persistence mode."""
    action, persistence = state.get("recovery_action"), state.get("persistence")
    if action is not None:
        outcome = FAIL if action.strip().lower() not in _NOTHING_ASKED else PASS
        yield "gpu.recovery_action", outcome, f"the driver asks for: {action}", Category.GPU
    if persistence is not None:
        said = "persistence mode is " + ("on" if persistence else "off")
        yield "gpu.persistence", PASS if persistence else WARN, said, None
