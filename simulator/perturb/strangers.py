"""Files of another job that lie beside those of this one."""

import random
from dataclasses import dataclass, replace
from typing import Final

from simulator.perturb.clocks import dump_moved, log_moved
from simulator.perturb.incident import Incident
from simulator.perturb.placing import is_kernel_log
from simulator.perturb.stamps import SECOND_NS
from simulator.perturb.transformation import Keep

_HOUR_NS: Final = 3600 * SECOND_NS


@dataclass(frozen=True, slots=True)
class OtherJob:
    """Logs and a few dumps of a job that ended hours before, on other nodes."""

    name: str = "other-job"
    law: int = 5
    keeps: frozenset[Keep] = frozenset({Keep.NODE, Keep.ROLE, Keep.CATEGORY, Keep.NO_INNOCENT})
    num_dumps: int = 4

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without another job, or where both run on a node of one name."""
        other = incident.other
        if other is None or other.end_ns is None or incident.start_ns is None:
            return None
        if not other.nodes or set(other.nodes) & set(incident.nodes) or not incident.nodes:
            return None
        by_ns = incident.start_ns - rng.randrange(3, 48) * _HOUR_NS - other.end_ns
        texts = other.texts()
        kernel = [name for name in texts if is_kernel_log(other.files[name])]
        rest = [name for name in texts if name not in kernel]
        chosen = rng.sample(kernel, min(2, len(kernel))) + rng.sample(rest, min(1, len(rest)))
        dumps = sorted(other.dumps())[: self.num_dumps] if incident.dumps() else []
        made = {
            f"earlier/{name}": log_moved(other.files[name], by_ns, other.end_ns) for name in chosen
        }
        made |= {
            f"earlier/{name}": dump_moved(other.files[name], by_ns, other.end_ns) for name in dumps
        }
        return replace(incident, files={**incident.files, **made}) if made else None
