"""An incident as named bytes in memory, with what a transformation has to know of it.

Nothing here judges: whose logs are an innocent's, when the job stopped and which lines
tell the cause is said by whoever asks (a truth, or an answer that was given before).
"""

import io
import re
import tarfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from triage.errors import ArtifactError
from triage.parsers.files.archive import expand
from triage.parsers.files.compression import MAGIC_BYTES, UNBOUNDED, detect_compression
from triage.parsers.files.job_file import parse_job

_RANK: Final = re.compile(r"(?<![A-Za-z0-9])(?:rank|dump|trace|replica|worker)?[_-]?(\d{1,6})$")


@dataclass(frozen=True, slots=True)
class Incident:
    """Files by name, unpacked, and what is known of them.

    ``node_of`` is file -> node where the file is one node's. ``start_ns`` and ``end_ns``
    are when the job stopped moving and when it was given up, None where nobody knows.
    ``roots`` are the lines that tell the cause, ``told`` all lines that were evidence, as
    (file, line from 1). ``other`` is an incident of another job.
    """

    files: Mapping[str, bytes]
    nodes: tuple[str, ...] = ()
    node_of: Mapping[str, str] = field(default_factory=dict)
    innocent: frozenset[str] = frozenset()
    start_ns: int | None = None
    end_ns: int | None = None
    roots: frozenset[tuple[str, int]] = frozenset()
    told: frozenset[tuple[str, int]] = frozenset()
    other: "Incident | None" = None

    def with_files(self, changed: Mapping[str, bytes]) -> "Incident":
        """The same incident with some files changed or added."""
        return replace(self, files={**self.files, **changed})

    def renamed(self, names: Mapping[str, str]) -> "Incident":
        """The same files by other names; ``names`` is old -> new."""
        return replace(
            self,
            files={names.get(old, old): data for old, data in self.files.items()},
            node_of={names.get(old, old): node for old, node in self.node_of.items()},
            roots=frozenset((names.get(old, old), line) for old, line in self.roots),
            told=frozenset((names.get(old, old), line) for old, line in self.told),
        )

    def dumps(self) -> list[str]:
        """The files that are dumps."""
        return [name for name, data in self.files.items() if is_dump(data)]

    def texts(self, nodes: Collection[str] | None = None) -> list[str]:
        """The files that are logs; those of ``nodes`` alone where these are given."""
        return [
            name
            for name, data in self.files.items()
            if is_text(name, data) and (nodes is None or self.node_of.get(name) in nodes)
        ]


def is_dump(data: bytes) -> bool:
    """Whether the bytes begin as a flight-recorder dump does: a pickle, or its JSON."""
    return data[:1] == b"\x80" or data[:64].lstrip().startswith(b'{"version"')


def is_text(name: str, data: bytes) -> bool:
    """Whether a file is a log: neither a dump nor the job's facts, and no binary."""
    if not data or is_dump(data) or name.rpartition("/")[2] in ("job.json", ".DS_Store"):
        return False
    return b"\0" not in data[:4096]


def load(
    folder: Path, nodes: Collection[str] = (), ranks: Mapping[int, str] | None = None
) -> Incident:
    """All files below ``folder``, unpacked; ``ranks`` is rank -> node, else ``job.json`` says it.

    What cannot be unpacked stays as it is.
    """
    files: dict[str, bytes] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        files.update(_unpacked(path.relative_to(folder).as_posix(), path.read_bytes()))
    facts, _ = parse_job(files.get("job.json", b""))
    names = tuple(nodes) or tuple(facts.nodes)
    where = ranks or {
        rank: node
        for rank in range(facts.world_size or 0)
        if (node := facts.node_of(rank)) is not None
    }
    node_of = {name: node for name in files if (node := _owner(name, names, where))}
    return Incident(files, names, node_of)


def save(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files below ``folder`` in their order."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that one file is, without compression and without an archive."""
    plain = _decompressed(data)
    if plain is not data:
        name = re.sub(r"\.(?:gz|zst|xz|bz2)$", "", name)
        name = re.sub(r"\.tgz$", ".tar", name)
    if plain[257:262] != b"ustar":
        yield name, plain
        return
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for info in archive:
            source = archive.extractfile(info) if info.isreg() else None
            if source is not None:
                yield from _unpacked(f"{name.removesuffix('.tar')}/{info.name}", source.read())


def _decompressed(data: bytes) -> bytes:
    compression = detect_compression(data[:MAGIC_BYTES])
    if compression is None:
        return data
    try:
        return expand(io.BytesIO(data), compression, UNBOUNDED)
    except ArtifactError:
        return data


def _owner(name: str, nodes: Collection[str], ranks: Mapping[int, str]) -> str | None:
    """The node of a file, by a folder or by its name; None where that tells nothing."""
    parts = name.split("/")
    for part in reversed(parts):
        if part in nodes:
            return part
    stem = parts[-1]
    for node in sorted(nodes, key=len, reverse=True):
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(node)}(?![A-Za-z0-9-])", stem):
            return node
    found = _RANK.search(stem.split(".")[0])
    return ranks.get(int(found[1])) if found else None
