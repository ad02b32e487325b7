"""The progress of a whole log: an even sample of bounded size, wherever chunks are cut."""

from pathlib import Path

import pytest

from triage.formats.extractor import Extractor
from triage.formats.streams import read_logs
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.forms import KEPT_OF_A_FORM
from triage.parsers.logs.progress.series import JobSteps, MarkKind, Quantity
from triage.parsers.logs.read import LogBounds


def progress_of(folder: Path, text: str, bounds: LogBounds | None = None) -> JobSteps:
    (folder / "train.log").write_bytes(text.encode())
    logs = read_logs(find_inputs([folder]).files, bounds=bounds or LogBounds())
    found = logs.files[0].progress
    assert found is not None
    return found


def steps(count: int, head: str = "") -> str:
    return "".join(f"{head}step {n} | loss: {4 - n / count:.4f} | lr 3e-4\n" for n in range(count))


def test_keeps_every_line_of_a_short_log(tmp_path: Path) -> None:
    found = progress_of(tmp_path, steps(KEPT_OF_A_FORM - 1))
    assert [one.values[Quantity.STEP] for one in found.steps] == list(range(KEPT_OF_A_FORM - 1))
    assert found.steps[4].place.line == 5


@pytest.mark.parametrize("count", [1_000, 30_000])
def test_keeps_an_even_sample_of_a_long_log(tmp_path: Path, count: int) -> None:
    found = progress_of(tmp_path, steps(count))
    at = [int(one.values[Quantity.STEP]) for one in found.steps]
    assert KEPT_OF_A_FORM // 3 < len(at) <= KEPT_OF_A_FORM + 2
    assert (at[0], at[-1]) == (0, count - 1)
    quarters = [sum(k * count // 4 <= n < (k + 1) * count // 4 for n in at) for k in range(4)]
    assert max(quarters) < 2 * min(quarters)
    assert found.seen == count


def test_does_not_depend_on_where_chunks_are_cut(tmp_path: Path) -> None:
    text = steps(3_000, head="[rank3]: ")
    whole = progress_of(tmp_path, text)
    cut = progress_of(tmp_path, text, LogBounds(chunk=40_000, line=2_000, context=1_000))
    assert cut == whole
    assert {one.rank for one in whole.steps} == {3}


def test_reads_a_bar_that_redraws_itself_in_one_line(tmp_path: Path) -> None:
    bar = "\r".join(f" {n}%|##| {n}/100 [00:{n // 2:02}<00:10,  2.00it/s]" for n in range(100))
    found = progress_of(tmp_path, f"start\n{bar}\n100%|##| 100/100 [00:50<00:00,  2.00it/s]\n")
    assert [int(one.values[Quantity.STEP]) for one in found.steps] == list(range(101))
    assert found.steps[50].place.line == 2
    assert found.steps[50].place.order < found.steps[51].place.order


def test_a_loss_that_becomes_nan_stays_in_its_series(tmp_path: Path) -> None:
    text = steps(20) + "".join(f"step {n} | loss: nan | lr 3e-4\n" for n in range(20, 30))
    found = progress_of(tmp_path, text)
    assert [int(one.values[Quantity.STEP]) for one in found.steps] == list(range(30))
    assert {one.counter for one in found.steps} == {"step"}


def test_counts_marks_with_their_first_and_last_place(tmp_path: Path) -> None:
    beats = "".join(f"worker heartbeat task={n} status=running\n" for n in range(700))
    found = progress_of(tmp_path, steps(5) + beats)
    (mark,) = found.marks
    assert (mark.kind, mark.count) == (MarkKind.HEARTBEAT, 700)
    assert (mark.places[0].line, mark.places[-1].line) == (6, 705)
    assert len(mark.places) <= 65


def test_a_kernel_log_has_no_progress(tmp_path: Path) -> None:
    line = "Nov 21 10:00:{:02} n3 kernel: [ 4000.{:06}] overflow in step {} loss of sync\n"
    (tmp_path / "kern.log").write_text("".join(line.format(n, n, n) for n in range(30)))
    file: LogFile = read_logs(find_inputs([tmp_path]).files).files[0]
    assert file.progress is None


def test_lines_of_many_words_cost_no_memory(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c for a in letters for b in letters for c in letters][:3_000]
    text = "".join(f"{word} step 1 loss: 2.0 {word}\n" for word in words)
    assert len(progress_of(tmp_path, text).steps) <= 64


def test_progress_is_kept_with_the_extract(tmp_path: Path) -> None:
    text = "".join(
        f" [2026-03-04 05:{n:02}:07] iteration {n}/ 90 | lm loss: {loss} | grad norm: inf |\n"
        for n, loss in enumerate(["2.5E+00", "nan"] * 20)
    )
    (tmp_path / "train.log").write_text(text + "saving checkpoint at iteration 40 to /ckpt\n")
    (extract,) = Extractor().extract(find_inputs([tmp_path]).files)
    again = unpack(pack(extract))
    assert repr(again.logs[0].file.progress) == repr(extract.logs[0].file.progress)
    assert len(extract.logs[0].file.progress.steps) == 40


def test_the_sender_says_whose_log_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(steps(5))
    files = find_inputs([tmp_path]).files
    (extract,) = Extractor().extract(files, {files[0].artifact: 7})
    assert {one.rank for one in extract.logs[0].file.progress.steps} == {7}
