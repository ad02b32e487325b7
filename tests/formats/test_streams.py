"""Which files the reader of streams passes over, where nobody has looked for dumps before."""

from pathlib import Path

from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs


def test_a_dump_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "trace_rank_0").write_bytes(b"\x80\x02}q\x00.")
    (tmp_path / "a.log").write_bytes(b"step 1 loss 2.3\n")

    logs = read_logs(find_inputs([tmp_path]).files)

    assert [file.artifact for file in logs.files] == ["a.log"]
    assert logs.refused == []


def test_a_file_that_is_wanted_is_read_whatever_it_looks_like(tmp_path: Path) -> None:
    """Whoever names the files has looked for dumps already."""
    (tmp_path / "trace_rank_0").write_bytes(b"\x80\x02 no dump at all \xff\n" * 8)

    logs = read_logs(find_inputs([tmp_path]).files, frozenset({"trace_rank_0"}))

    assert [file.artifact for file in logs.files] == ["trace_rank_0"]
