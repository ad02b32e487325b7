"""Job logs as files: stamps and prefixes of each voice, one file per rank, per node, or in all."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from simulator.incidents.story import JobLine, Story, Voice
from simulator.incidents.world import SECOND, Node, World

_OLD = ("2.0", "2.1", "2.2")


@dataclass(frozen=True, slots=True)
class JobStyle:
    """``split`` is rank, node or merged; ``prefix`` what a launcher puts in front of lines."""

    split: str
    prefix: str
    stamped: bool
    name: str


def style_of(world: World) -> JobStyle:
    """The style of this job, by chance."""
    chance = world.chance("job style")
    split = chance.choice(("rank", "rank", "node", "node", "merged", "merged"))
    new = world.torch not in _OLD
    prefix = {
        "rank": ("", "", "rank"),
        "node": ("rank", "rank", "local", "slurm"),
        "merged": ("slurm", "mpi", "noded", "rank"),
    }[split]
    chosen = chance.choice(prefix)
    if chosen == "rank" and not new and split == "node":
        chosen = "local"
    name = chance.choice((f"slurm-{world.job_id}.out", f"job_{world.job_id}.log", "train.log"))
    return JobStyle(split, chosen, chance.random() < 0.35, name)


def job_files(story: Story, style: JobStyle) -> Iterator[tuple[str, str, bool]]:
    """Relative path, text, and whether a root line is in it."""
    world = story.world
    story.job.sort(key=lambda line: line.at_ns)
    heaps: dict[str, list[JobLine]] = {}
    names = world.chance("job names")
    per_rank = names.choice(("rank{}.log", "rank_{}.out", "stdout.{}.log", "rank{}.err"))
    for line in story.job:
        node = world.nodes[line.node]
        if style.split == "merged" or line.voice == Voice.SCHEDULER:
            path = style.name
        elif style.split == "node":
            path = f"nodes/{node.name}/{style.name.replace('.out', '.log')}"
        elif line.rank < 0:
            path = f"nodes/{node.name}/launcher.log"
        else:
            path = f"nodes/{node.name}/{per_rank.format(line.rank)}"
        heaps.setdefault(path, []).append(line)
    voice = _Printer(world, style)
    for path, lines in heaps.items():
        text = "\n".join(voice.line(line) for line in lines) + "\n"
        yield path, text, any(line.root for line in lines)


class _Printer:
    """Lines of one job as text."""

    def __init__(self, world: World, style: JobStyle) -> None:
        self.world, self.style = world, style
        self.zone_print = world.utc_inside
        self.chance = random.Random(f"{world.seed}/printer")

    def line(self, line: JobLine) -> str:
        node = self.world.nodes[line.node]
        inside = self._inside(line, node)
        if line.voice == Voice.SCHEDULER:
            return inside
        return self._prefix(line, node) + inside

    def _prefix(self, line: JobLine, node: Node) -> str:
        prefix = self.style.prefix
        if prefix == "rank":
            return f"[rank{line.rank}]: " if line.rank >= 0 and line.voice != Voice.CPP else ""
        if prefix == "local" and line.rank >= 0:
            return f"[default{self.world.local(line.rank)}]:"
        if prefix == "slurm":
            # With one task a node the label is the node's; ranks speak inside of it.
            task = line.rank if line.rank >= 0 else line.node * self.world.gpus_per_node
            return f"{task:>{len(str(self.world.ranks - 1))}}: "
        if prefix == "mpi":
            return f"[1,{max(line.rank, 0)}]<stdout>:"
        if prefix == "noded":
            return f"{node.name}: " + (f"[rank{line.rank}]: " if line.rank >= 0 else "")
        return ""

    def _inside(self, line: JobLine, node: Node) -> str:
        shown = line.at_ns + node.skew_ns
        zone = 0 if self.zone_print else node.zone_s
        at = datetime.fromtimestamp(shown // SECOND + zone, UTC)
        nanos = shown % SECOND
        if line.voice == Voice.CPP:
            if self.world.torch in _OLD:
                return f"[{line.severity} {line.source}] {line.text}"
            label = f"[rank{line.rank}]:"
            return (
                f"{label}[{line.severity}{at.month}{at.day:02d} {at:%H:%M:%S}.{nanos:09d} "
                f"{line.source}] {line.text}"
            )
        if line.voice == Voice.NCCL:
            pid = self.world.pid(line.rank)
            head = f"{node.name}:{pid}:{pid + 40} [{self.world.local(line.rank)}] "
            if line.severity == "W" and self.world.nccl >= "2.25":
                return f"[{at:%Y-%m-%d %H:%M:%S}] {head}{line.text}"
            return head + line.text
        if line.voice == Voice.AGENT:
            return self._agent(line, at, nanos)
        if line.voice == Voice.LOGGING:
            level = {"E": "ERROR", "W": "WARNING"}.get(line.severity, "INFO")
            return f"[{at:%Y-%m-%d %H:%M:%S},{nanos // 1_000_000:03d}] [{level}] {line.text}"
        if self.style.stamped and line.text and not line.text[0].isspace():
            return f"[{at:%Y-%m-%d %H:%M:%S}] {line.text}"
        return line.text

    def _agent(self, line: JobLine, at: datetime, nanos: int) -> str:
        if line.source in ("", "-"):
            return line.text
        torch, module = self.world.torch, line.source.split(".py")[0].replace("/", ".")
        if torch == "2.0":
            level = {"E": "ERROR", "W": "WARNING"}.get(line.severity, "INFO")
            return f"{level}:{module}:{line.text}"
        if torch in ("2.1", "2.2"):
            level = {"E": "ERROR", "W": "WARNING"}.get(line.severity, "INFO")
            return (
                f"[{at:%Y-%m-%d %H:%M:%S},{nanos // 1_000_000:03d}] {module}: [{level}] {line.text}"
            )
        return (
            f"{line.severity}{at.month:02d}{at.day:02d} {at:%H:%M:%S}.{nanos // 1000:06d} "
            f"{self.world.nodes[line.node].pid_base} {line.source}] {line.text}"
        )
