"""What each target of the fuzzing begins with: the examples of all formats, and hostile inputs."""

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import zstandard

from benchmarks.fuzzing.shared import LARGEST

# `file`: a file as it lies; `packed`: one that is compressed or an archive; `extract`: what a
# reader gives back; `answer`: a stored answer; `redact`: secrets; `job`: job.json.
TARGETS: Final = ("file", "packed", "extract", "answer", "redact", "job")
_INCIDENTS: Final = Path(__file__).resolve().parents[2] / "tests" / "incidents"
_PACKED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7z", b"PK")
_SMALL: Final = 16 << 10


def of(target: str) -> Iterator[bytes]:
    """The inputs that this target begins with."""
    if target == "packed":
        for data in _plain():
            yield from _packings(data[:_SMALL])
        yield from (data for data in _hostile() if _is_packed(data))
    elif target == "job":
        yield from (path.read_bytes() for path in _INCIDENTS.rglob("job.json"))
    elif target in ("extract", "answer"):
        yield from _stored(target)
    else:
        yield from _plain()
        yield from (data for data in _hostile() if not _is_packed(data))


def _plain() -> Iterator[bytes]:
    from tests.formats.examples import EXAMPLES

    yield from (text.encode("latin-1") for text in EXAMPLES.values())
    for path in sorted(_INCIDENTS.rglob("*")):
        if path.is_file() and path.stat().st_size < LARGEST:
            yield path.read_bytes()[:_SMALL]


def _hostile() -> Iterator[bytes]:
    from tests.hostile.inputs import everything

    for one in everything():
        if not one.heavy and len(data := one.make("/nonexistent/marker")) < LARGEST:
            yield data


def _is_packed(data: bytes) -> bool:
    return data.startswith(_PACKED) or data[257:262] == b"ustar"


def _packings(data: bytes) -> Iterator[bytes]:
    yield gzip.compress(data, mtime=0)
    yield zstandard.compress(data)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("rank_0", "nodes/n3/kernel.log"):
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    yield out.getvalue()


def _stored(target: str) -> Iterator[bytes]:
    """The plain bytes inside of stored extracts or answers; the child packs them again."""
    import triage
    from triage.domain.answer_wire import answer_to_bytes
    from triage.formats.extractor import Extractor
    from triage.parsers.extract.wire import pack
    from triage.parsers.files.inputs import find_inputs

    extractor = Extractor()
    for folder in sorted(_INCIDENTS.iterdir())[:12]:
        if target == "answer":
            every = [answer_to_bytes(triage.analyze(folder).answer)]
        else:
            every = [pack(one) for one in extractor.extract(find_inputs([folder]).files)]
        for data in every:
            plain = zstandard.ZstdDecompressor().decompress(data[4:])
            if len(plain) < LARGEST - 4:
                yield data[:4] + plain
