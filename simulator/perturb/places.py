"""Maps of ranks that are wrong, logs in folders of other nodes, and other spellings of hosts.

Whoever collects an incident may map ranks by a list in another order, keep the output of all ranks
in the folder of one node, exchange folders, copy a log to every node, or write hosts in full.
"""

import json
import random
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from simulator.perturb.incident import Incident
from simulator.perturb.placing import is_kernel_log
from simulator.perturb.transformation import Keep
from triage.parsers.files.job_file import parse_job

_JOB: Final = "job.json"
# So many lines of a log tell whether it names its host.
_HEAD: Final = 65_536


@dataclass(frozen=True, slots=True)
class _Place:
    """Whoever was sound and left in before is not acted upon now."""

    name: str = ""
    law: int = 10
    keeps: frozenset[Keep] = frozenset({Keep.NO_SOUND_ACT})


@dataclass(frozen=True, slots=True)
class OtherMap(_Place):
    """``job.json`` puts ranks on other nodes than they ran on: all, or those of two nodes."""

    name: str = "other-map"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None where no map is known, or all ranks sit on one node."""
        facts, _ = parse_job(incident.files.get(_JOB, b""))
        world = facts.world_size or 0
        homes = {rank: node for rank in range(world) if (node := facts.node_of(rank)) is not None}
        nodes = sorted(set(homes.values()))
        if len(nodes) < 2:
            return None
        if rng.random() < 0.5:
            one, other = rng.sample(nodes, 2)
            moved = {one: other, other: one}
        else:
            shuffled = rng.sample(nodes, len(nodes))
            moved = dict(zip(nodes, shuffled, strict=True))
        raw: dict[str, Any] = json.loads(incident.files[_JOB])
        raw["rank_to_node"] = {str(rank): moved.get(node, node) for rank, node in homes.items()}
        return incident.with_files({_JOB: json.dumps(raw).encode()})


def _shared_logs(incident: Incident) -> list[str]:
    """The logs that are of no single node and no kernel's."""
    return [
        name
        for name in sorted(incident.texts())
        if name not in incident.node_of and not is_kernel_log(incident.files[name])
    ]


@dataclass(frozen=True, slots=True)
class MovedLog(_Place):
    """The log of all ranks lies in the folder of one node."""

    name: str = "moved-log"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without such a log."""
        logs = _shared_logs(incident)
        if not logs or not incident.nodes:
            return None
        name, node = rng.choice(logs), rng.choice(incident.nodes)
        made = incident.renamed({name: f"nodes/{node}/{name.rpartition('/')[2]}"})
        return replace(made, node_of={k: v for k, v in made.node_of.items() if k in made.files})


@dataclass(frozen=True, slots=True)
class CopiedLog(_Place):
    """The log of all ranks, or that of one node, lies in the folders of several."""

    name: str = "copied-log"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None without a log that names whose its lines are."""
        logs = _shared_logs(incident) or [
            name for name in sorted(incident.texts()) if _names_its_node(incident, name)
        ]
        if not logs or len(incident.nodes) < 2:
            return None
        name = rng.choice(logs)
        chosen = rng.sample(incident.nodes, rng.randint(2, min(len(incident.nodes), 6)))
        stem = name.rpartition("/")[2]
        copies = {f"nodes/{node}/copy-of-{stem}": incident.files[name] for node in chosen}
        return incident.with_files(copies)


@dataclass(frozen=True, slots=True)
class ExchangedLogs(_Place):
    """Two nodes' logs, whose lines name their hosts, lie in each other's folder."""

    name: str = "exchanged-logs"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None where fewer than two nodes have such a log."""
        logs: dict[str, list[str]] = {}
        for name in sorted(incident.texts()):
            if _names_its_node(incident, name) and f"nodes/{incident.node_of[name]}/" in name:
                logs.setdefault(incident.node_of[name], []).append(name)
        if len(logs) < 2:
            return None
        one, other = rng.sample(sorted(logs), 2)
        names = {
            name: name.replace(f"nodes/{node}/", f"nodes/{to}/", 1)
            for node, to in ((one, other), (other, one))
            for name in logs[node]
        }
        return incident.renamed(names)


@dataclass(frozen=True, slots=True)
class OtherSpelling(_Place):
    """One log writes its hosts in capitals, or with their domain."""

    name: str = "other-spelling"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None where no log names a node."""
        logs = [name for name in sorted(incident.texts()) if _named_in(incident, name)]
        if not logs:
            return None
        full = rng.random() < 0.5
        changed = {}
        for name in rng.sample(logs, rng.randint(1, len(logs))):
            data = incident.files[name]
            for node in _named_in(incident, name):
                short = node.partition(".")[0]
                new = f"{short}.pod9.example.net" if full else short.upper()
                # As a host before a line: not a part of another name, nor one with a domain.
                host = re.compile(rb"(?<![\w./-])" + re.escape(node.encode()) + rb"(?=[ :])")
                data = host.sub(new.encode(), data)
            changed[name] = data
        return incident.with_files(changed)


def _names_its_node(incident: Incident, name: str) -> bool:
    """Whether the log of one node names it on its lines."""
    node = incident.node_of.get(name)
    if node is None:
        return False
    lines = incident.files[name][:_HEAD].splitlines()
    named = sum(re.search(rb"(?<![\w.-])" + re.escape(node.encode()), one) is not None
                for one in lines)  # fmt: skip
    return bool(lines) and 2 * named > len(lines)


def _named_in(incident: Incident, name: str) -> list[str]:
    """The nodes that a log names."""
    head = incident.files[name][:_HEAD]
    return [node for node in incident.nodes if f" {node} ".encode() in head]
