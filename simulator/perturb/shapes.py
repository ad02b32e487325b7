"""The same evidence in another shape: names, folders, archives, ends of lines, colours, order."""

import gzip
import io
import random
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from simulator.perturb.incident import Incident
from simulator.perturb.placing import encoded, is_kernel_log, placed
from simulator.perturb.transformation import EVERYTHING, Keep

_RANK: Final = re.compile(r"(\d+)(\.[A-Za-z]\w*)*$")
_LEVEL: Final = re.compile(r"\b(ERROR|WARNING|INFO|Error|Traceback)\b")


@dataclass(frozen=True, slots=True)
class _Shape:
    """Changes nothing of the evidence, so that no law of joining is at work."""

    name: str = ""
    law: int = 0
    keeps: frozenset[Keep] = EVERYTHING


@dataclass(frozen=True, slots=True)
class Renamed(_Shape):
    """Other folders and names; ``nodes/NODE/`` and the number of a rank stay."""

    name: str = "renamed"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Dumps get another prefix, logs another name."""
        prefix = rng.choice(("zz_other_prefix_", "flight_", "dump-of-rank-"))
        names: dict[str, str] = {}
        for name in sorted(incident.files):
            folder, _, stem = name.rpartition("/")
            if name == "job.json":
                continue
            node = incident.node_of.get(name)
            if name in incident.dumps():
                found = _RANK.search(stem)
                if found is None:
                    continue
                new = f"{prefix}{found[1]}{'.json' if stem.endswith('.json') else ''}"
                folder = f"nodes/{node}/fr" if node else folder
            elif node is not None and is_kernel_log(incident.files[name]):
                folder, new = f"nodes/{node}/var", rng.choice(("messages", "ring.txt", "kmsg"))
            else:
                new = stem
                folder = f"nodes/{node}/out" if node else "more"
            path = f"{folder}/{new}" if folder else new
            if path not in names.values():
                names[name] = path
        return incident.renamed(names)


@dataclass(frozen=True, slots=True)
class Flat(_Shape):
    """All in one folder; node and rank stand in the names."""

    name: str = "flat"

    def apply(self, incident: Incident, _rng: random.Random, /) -> Incident | None:
        """None where a dump's name has no rank, or two files would have one name."""
        names: dict[str, str] = {}
        for name in incident.files:
            stem = name.rpartition("/")[2]
            node = incident.node_of.get(name)
            if name in incident.dumps():
                found = _RANK.search(stem)
                if found is None:
                    return None
                end = ".json" if stem.endswith(".json") else ""
                names[name] = f"nccl_trace_rank_{node}_{found[1]}{end}" if node else stem
            else:
                names[name] = f"{node}.{stem}" if node and node not in stem else stem
        return incident.renamed(names) if len(set(names.values())) == len(names) else None


@dataclass(frozen=True, slots=True)
class Tarred(_Shape):
    """One archive of all."""

    name: str = "tarred"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """``incident.tar.gz`` with one folder in it."""
        return replace(incident, files={"incident.tar.gz": _packed(incident.files, rng)})


@dataclass(frozen=True, slots=True)
class Packed(_Shape):
    """Each log packed with gzip."""

    name: str = "gzipped"

    def apply(self, incident: Incident, _rng: random.Random, /) -> Incident | None:
        """``NAME.gz`` in place of ``NAME``."""
        texts = set(incident.texts())
        if not texts:
            return None
        files = {
            f"{name}.gz" if name in texts else name: gzip.compress(data, 1, mtime=0)
            if name in texts
            else data
            for name, data in incident.files.items()
        }
        return replace(incident, files=files)


@dataclass(frozen=True, slots=True)
class Crlf(_Shape):
    """Lines end as on Windows."""

    name: str = "crlf"

    def apply(self, incident: Incident, _rng: random.Random, /) -> Incident | None:
        """All logs."""
        made = {
            name: re.sub(rb"(?<!\r)\n", b"\r\n", incident.files[name]) for name in incident.texts()
        }
        return incident.with_files(made) if made else None


@dataclass(frozen=True, slots=True)
class Ansi(_Shape):
    """Logs as a terminal coloured them."""

    name: str = "ansi-colours"

    def apply(self, incident: Incident, _rng: random.Random, /) -> Incident | None:
        """Whole messages of kernels, levels of job logs; no lines of JSON."""
        made = {}
        for name in incident.texts():
            data = incident.files[name]
            if data[:1] == b"{":
                continue
            if is_kernel_log(data):
                log = placed(data, incident.end_ns)
                made[name] = encoded(
                    [
                        f"{line.before}\x1b[33m{line.text}\x1b[0m" if line.text else line.before
                        for line in log.lines
                    ]
                )
            else:
                text = data.decode("utf-8", "surrogateescape")
                coloured = _LEVEL.sub("\x1b[1;31m\\1\x1b[0m", text)
                made[name] = coloured.encode("utf-8", "surrogateescape")
        return incident.with_files(made) if made else None


@dataclass(frozen=True, slots=True)
class Merged(_Shape):
    """The kernel logs that carry a host's name, merged by time into one file."""

    name: str = "merged-logs"

    def apply(self, incident: Incident, _rng: random.Random, /) -> Incident | None:
        """None with fewer than two such logs."""
        parts: list[tuple[int, int, str]] = []
        gone = set()
        for name in incident.texts():
            node, data = incident.node_of.get(name), incident.files[name]
            first = data[:4096].decode("utf-8", "replace").splitlines()[:3]
            if node is None or not all(f" {node} " in line for line in first):
                continue
            if not is_kernel_log(data):
                continue
            log = placed(data, incident.end_ns)
            gone.add(name)
            for time, line in zip(log.times, log.lines, strict=True):
                parts.append((time, len(parts), line.before + line.text + line.behind))
        if len(gone) < 2:
            return None
        files = {name: data for name, data in incident.files.items() if name not in gone}
        return replace(
            incident, files={**files, "syslog.log": encoded([p[2] for p in sorted(parts)])}
        )


@dataclass(frozen=True, slots=True)
class Shuffled(_Shape):
    """The files in another order."""

    name: str = "shuffled"

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """The same names and bytes."""
        names = list(incident.files)
        rng.shuffle(names)
        return replace(incident, files={name: incident.files[name] for name in names})


def _packed(files: Mapping[str, bytes], rng: random.Random) -> bytes:
    names = sorted(files)
    rng.shuffle(names)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name in names:
            info = tarfile.TarInfo(f"incident/{name}")
            info.size = len(files[name])
            archive.addfile(info, io.BytesIO(files[name]))
    return out.getvalue()
