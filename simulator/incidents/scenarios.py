"""All scenarios by name: a category, who tells it, which dumps go with it, how the job ends.

To add a scenario: write its function beside its like, and add one line here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.incidents import hardware as hw
from simulator.incidents import other
from simulator.incidents.story import Story
from triage.errors import UsageError

_STOPS = ("device-stall", "device-stall", "host-stall", "no-dump")
_DEAD = ("no-dump",)
_FABRIC = ("fabric-stall",)
_CRASH = ("",)
_STOP_OR_CRASH = ("device-stall", "no-dump", "host-stall", "")


@dataclass(frozen=True, slots=True)
class Scenario:
    """``dumps`` are kinds to choose from, "" for a crash that leaves none.

    ``code`` is the exit code of the first process; ``codes`` of a hang are the watchdog's.
    """

    name: str
    category: str
    tell: Callable[[Story], None]
    dumps: tuple[str, ...]
    code: int = 1
    verdicts: tuple[str, ...] = ("hang", "crash")
    entries: int = 0
    """The smallest ring that shows it."""
    skew_s: float = 1e9
    """Clocks are no further off: what takes milliseconds is lost among clocks that nobody sets."""
    by_name: bool = False
    """Never drawn for its category: only what is asked for by name."""

    @property
    def about(self) -> str:
        """What happens, in one sentence."""
        return (self.tell.__doc__ or "").strip().split("\n")[0]


_MISMATCHES = ("mismatch-op", "mismatch-size", "mismatch-dtype", "swapped-order", "skipped-op")
_ENDED = ("crash", "inconclusive", "hang")
SCENARIOS = {
    one.name: one
    for one in (
        Scenario("gpu-fell-off", "gpu", hw.gpu_fell_off, _STOP_OR_CRASH),
        Scenario("gpu-bus-quiet", "gpu", hw.gpu_bus_quiet, _STOP_OR_CRASH),
        Scenario("gpu-engine", "gpu", hw.gpu_mmu, _STOP_OR_CRASH),
        Scenario("gpu-init", "gpu", hw.gpu_init, _CRASH),
        Scenario("gpu-silent", "gpu", hw.gpu_silent, ("device-stall",)),
        Scenario("hbm-dbe", "gpu_hbm", hw.hbm_dbe, _STOP_OR_CRASH),
        Scenario("hbm-uncontained", "gpu_hbm", hw.hbm_uncontained, _STOP_OR_CRASH),
        Scenario("hbm-remap", "gpu_hbm", hw.hbm_remap, _STOP_OR_CRASH),
        Scenario("hbm-job-only", "gpu_hbm", hw.hbm_job_only, ("no-dump", "")),
        Scenario("sram", "gpu_sram", hw.sram_bad, _STOP_OR_CRASH),
        Scenario("gsp-timeout", "gpu_gsp", hw.gsp_waits, _STOPS),
        Scenario("gsp-exception", "gpu_gsp", hw.gsp_dies, _STOPS),
        Scenario("gpu-hot", "gpu_thermal", hw.hot_gpu, ("device-stall", "straggler", "no-dump"),
                 verdicts=("hang", "crash", "straggler")),
        Scenario("nvlink", "nvlink", hw.nvlink_dead, _STOP_OR_CRASH),
        Scenario("nvlink-job-only", "nvlink", hw.nvlink_job, ("no-dump", "")),
        Scenario("sdc-rerun", "sdc", hw.sdc_rerun, _CRASH),
        Scenario("sdc-gradient", "sdc", hw.sdc_grad, _CRASH),
        Scenario("nic-firmware", "nic", hw.nic_firmware, _FABRIC),
        Scenario("nic-port", "nic", hw.nic_port, _FABRIC),
        Scenario("leaf-switch", "network", hw.network_leaf, _FABRIC),
        Scenario("link-flap", "network", hw.network_flap, _FABRIC),
        Scenario("ib-retries", "network", hw.network_pair, _FABRIC),
        Scenario("disk-dead", "ssd", hw.ssd_dead, ("host-stall", "")),
        Scenario("power-supply", "power", hw.power_lost, _DEAD),
        Scenario("chassis", "chassis", hw.chassis_down, _DEAD),
        Scenario("pcie-fatal", "io_board", hw.io_aer, ("no-dump", "device-stall")),
        Scenario("pcie-link-down", "io_board", hw.io_dpc, ("no-dump", "device-stall")),
        Scenario("machine-check", "cpu", hw.cpu_check, _DEAD),
        Scenario("memory-poison", "host_memory", hw.memory_bad, ("no-dump", ""), code=-7),
        Scenario(
            "preempted", "host_maintenance", other.preempted, _CRASH, code=-15, verdicts=_ENDED
        ),
        Scenario("node-rebooted", "host_maintenance", other.drained, _DEAD, verdicts=_ENDED),
        Scenario("user-error", "software_user", other.user_error, ("", "no-dump")),
        Scenario("user-error-all", "software_user", other.user_error_all, _CRASH),
        Scenario("segfault", "software_framework", other.segfault, ("", "no-dump"), code=-11),
        Scenario("illegal-access", "software_framework", other.illegal_access, _CRASH, code=-6),
        Scenario("collective-mismatch", "collective_mismatch", other.mismatch, _MISMATCHES,
                 verdicts=("hang", "desync")),
        Scenario("collective-check", "collective_mismatch", other.check_differs, _CRASH,
                 verdicts=("desync", "crash", "hang")),
        Scenario("data-loader", "host_stall", other.data_stall, ("host-stall",)),
        Scenario("tokenizer", "host_stall", other.tokenizer, ("host-stall",)),
        Scenario("gpu-oom", "gpu_oom", other.gpu_memory, ("", "no-dump")),
        Scenario("host-oom", "host_oom", other.host_killed, ("", "no-dump"), code=-9),
        Scenario("shm-full", "dependency", other.bus_error, _CRASH, code=-7),
        Scenario("nan-loss", "numerical", other.nan_loss, _CRASH),
        Scenario("dependency", "dependency", other.dependency_broken, _CRASH),
        Scenario("file-server", "storage", other.file_server, ("", "host-stall")),
        Scenario("store-full", "storage", other.disk_full, _CRASH),
        Scenario("watchdog-only", "nccl_timeout", other.nobody_knows, ("fabric-stall",),
                 verdicts=("hang", "inconclusive")),
        Scenario("slow-rank", "straggler", other.slow_rank, ("straggler",),
                 verdicts=("straggler",)),
        Scenario("thermal-straggler", "gpu_thermal", other.thermal_rank, ("straggler",),
                 verdicts=("straggler",), entries=2000, skew_s=0.004, by_name=True),
        Scenario("healthy-job", "none", other.healthy_end, ("healthy", ""),
                 verdicts=("healthy", "inconclusive")),
    )
}  # fmt: skip


def named(name: str, seed: int) -> Scenario:
    """The scenario of that name, or one of that category by the seed."""
    found = SCENARIOS.get(name.replace("_", "-")) or SCENARIOS.get(name)
    if found is not None:
        return found
    of = [
        one
        for one in SCENARIOS.values()
        if one.category == name.replace("-", "_") and not one.by_name
    ]
    if not of:
        raise UsageError(
            f"there is no kind of fault {name!r}, no scenario or category: "
            "see triage simulate --list"
        )
    return of[seed % len(of)]
