"""Any bytes are a log: read to the same rows twice, in any order of files, without an error."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import triage
from tests.hostile.log_incident import good, write
from triage.errors import NothingToAnalyze
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.report import read_rows
from triage.signatures.registry import load_all_signatures

HITS = sorted({hit for one in load_all_signatures() for hit in one.matches})
PREFIXES = (
    "", "[rank3]: ", "[rank3]:[E1121 03:14:15.123456789 x.cpp:1] ", "<4>[  12.345678] ", "0: ",
    "Nov 21 03:04:15 n1 kernel: ", "2026-11-21T03:04:15Z stderr F ", '{"log":"', "[default2]:",
    "2026-11-21 03:04:15,123 - INFO - ", "n1:12:34 [2] NCCL INFO ", "\x1b[31m", "[12345.1] ",
)  # fmt: skip
LINES = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda a, b, c: (a + b + c).encode(), st.sampled_from(PREFIXES),
              st.sampled_from(PREFIXES), st.sampled_from(HITS)),
    st.builds(lambda hit, cut: hit.encode()[:cut], st.sampled_from(HITS), st.integers(0, 200)),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=12).map(b"\n".join)


def rows(folder: Path) -> list[object]:
    try:
        return list(read_rows(folder))
    except NothingToAnalyze as error:
        return [str(error).replace(str(folder), "")]


@settings(max_examples=80, deadline=None)
@given(TEXTS, st.booleans())
def test_any_bytes_are_read_twice_alike(text: bytes, kernel: bool) -> None:
    with TemporaryDirectory() as name:
        folder = write(Path(name), {f"nodes/n1/{'kernel' if kernel else 'app'}.log": text})
        found = rows(folder)
        assert rows(folder) == found
        for row in read_logs(find_inputs([folder]).files).evidence:
            assert row.count >= 1
            assert len(row.text) <= 300
            assert not any(ord(char) < 32 and char not in "\t\x1b" for char in row.text)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.sampled_from(["nodes/n1/a.log", "nodes/n2/b.log", "all.log", "job.2.log"]))
def test_any_bytes_beside_an_incident_leave_a_whole_answer(text: bytes, name: str) -> None:
    with TemporaryDirectory() as folder:
        report = triage.analyze(write(Path(folder), good() | {name: text}))
        answer = report.answer
        assert answer.suspects or answer.verdict.cordon == ()
        assert set(answer.verdict.cordon) <= {one.node for one in answer.suspects}
        assert all(0 <= rank < 16 for one in answer.suspects for rank in one.ranks)
        assert 0 <= answer.verdict.confidence <= 1
        assert report.to_dict() == triage.analyze(folder).to_dict()


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_files_changes_nothing(texts: list[bytes], rng: random.Random) -> None:
    with TemporaryDirectory() as name:
        folder = write(Path(name), good() | {f"x/{k}.log": text for k, text in enumerate(texts)})
        paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "job.json"]
        before = triage.analyze(sorted(paths)).to_dict()
        rng.shuffle(paths)
        assert triage.analyze(paths).to_dict() == before
