"""Changes of what tools said of a running job: strangers' processes, cut files, an earlier look."""

import random
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Final

from simulator.perturb.incident import Incident
from simulator.perturb.transformation import EVERYTHING, Keep

_STACK: Final = re.compile(rb"\AProcess \d+: ")
_LOOKS: Final = re.compile(rb'\A(?:Process \d+: |\{\s*"nccl_version")')
_STAMP: Final = re.compile(r"\d{8}_\d{6}")
_FORM: Final = "%Y%m%d_%H%M%S"
# Processes that stand outside any collective on every node of every job.
_STRAYS: Final = (
    (
        "/opt/venv/bin/python /opt/venv/bin/torchrun --nnodes 8 train.py",
        "    sleep (torch/distributed/elastic/agent/server/api.py:893)\n"
        "    _invoke_run (torch/distributed/elastic/agent/server/api.py:894)\n"
        "    run (torch/distributed/elastic/agent/server/api.py:727)\n"
        "    launch_agent (torch/distributed/launcher/api.py:260)\n"
        "    main (torch/distributed/run.py:918)\n"
        "    <module> (torchrun:8)\n",
    ),
    (
        "/usr/bin/python3 /opt/monitor/gpu_agent.py",
        "    select (selectors.py:415)\n    serve_forever (socketserver.py:232)\n"
        "    main (gpu_agent.py:88)\n    <module> (gpu_agent.py:97)\n",
    ),
    (
        "/usr/bin/python3 -m ipykernel_launcher -f kernel-9.json",
        "    select (selectors.py:415)\n    _run_once (asyncio/base_events.py:1869)\n"
        "    run_forever (asyncio/base_events.py:603)\n    start (ipykernel/kernelapp.py:739)\n"
        "    <module> (ipykernel_launcher.py:18)\n",
    ),
)


def _stacks_in(incident: Incident) -> list[str]:
    """The files of stacks, by name."""
    return sorted(name for name, data in incident.files.items() if _STACK.match(data))


@dataclass(frozen=True, slots=True)
class StrayStacks:
    """Stacks of launchers, agents and notebooks among those of the ranks."""

    name: str = "stray-stacks"
    law: int = 5
    keeps: frozenset[Keep] = EVERYTHING

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without stacks."""
        stacks = _stacks_in(incident)
        if not stacks:
            return None
        made: dict[str, bytes] = {}
        for folder in sorted({str(PurePosixPath(name).parent) for name in stacks}):
            for command, frames in _STRAYS:
                pid = rng.randrange(800, 9000)
                text = (
                    f"Process {pid}: {command}\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
                    f'Thread {pid} (idle): "MainThread"\n{frames}'
                )
                made[f"{folder}/py-spy-pid{pid}.txt"] = text.encode()
        return incident.with_files(made)


@dataclass(frozen=True, slots=True)
class CutLooks:
    """A part of the looks ends in the middle."""

    name: str = "cut-looks"
    law: int = 6
    keeps: frozenset[Keep] = frozenset({Keep.NO_INNOCENT})
    share: float = 0.3

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without looks."""
        names = sorted(name for name, data in incident.files.items() if _LOOKS.match(data))
        chosen = rng.sample(names, round(self.share * len(names)))
        if not chosen:
            return None
        cut = {
            name: incident.files[name][: rng.randrange(20, len(incident.files[name]))]
            for name in chosen
        }
        return incident.with_files(cut)


@dataclass(frozen=True, slots=True)
class EarlierLook:
    """Stacks that were taken hours before, while the job ran: each rank stood where another does.

    A job that moved then and stands now is stuck all the same.
    """

    name: str = "earlier-look"
    law: int = 3
    keeps: frozenset[Keep] = frozenset({Keep.NODE, Keep.ROLE, Keep.CATEGORY, Keep.NO_INNOCENT})

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without stacks whose names or folders say when they were taken."""
        dated = [name for name in _stacks_in(incident) if _STAMP.search(name)]
        if len(dated) < 2:
            return None
        first = min(found[0] for name in dated if (found := _STAMP.search(name)))
        before = datetime.strptime(first, _FORM) - timedelta(hours=rng.randrange(2, 9))  # noqa: DTZ007
        own = [name for name in dated if first in name]
        others = [*own[1:], own[0]]
        made = {
            name.replace(first, before.strftime(_FORM)): incident.files[other]
            for name, other in zip(own, others, strict=True)
        }
        return replace(incident, files={**incident.files, **made})
