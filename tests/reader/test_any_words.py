"""An error in any words, which a pattern takes for software's, is what the reader makes of it."""

from pathlib import Path

import pytest

from triage.domain.category import Category
from triage.formats.gather import gather


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ("RuntimeError: the object store answered 503 Slow Down, giving up", Category.STORAGE),
        ("RuntimeError: the schedule has no micro-batches left", Category.SOFTWARE_USER),
        (
            "RuntimeError: fused_softmax.cu:210 in function launch_bwd: workspace too small,"
            " internal error of the extension",
            Category.SOFTWARE_FRAMEWORK,
        ),
    ],
)
def test_the_words_of_an_error_tell_its_cause(
    tmp_path: Path, error: str, category: Category
) -> None:
    (tmp_path / "train.log").write_text(f"step 120 done\n{error}\n")
    _, _, logs, _, _ = gather([tmp_path], None, None)
    (row,) = (one for one in logs.evidence if one.text == error)
    assert (row.category, row.weak) == (category, True)
    if category is Category.STORAGE:
        assert Category.SOFTWARE_USER in row.also
        assert row.fields["like"]


@pytest.mark.parametrize(
    ("line", "category"),
    [
        (
            "guard: rerun of step 90 on every rank: gradient norm is NaN again, loss diverges",
            Category.NUMERICAL,
        ),
        ("rerun of batch 7 on rank 3 differs: checksum 0x1f is not 0x2e", Category.SDC),
    ],
)
def test_what_a_pattern_takes_for_a_part_yields_to_a_sure_reading(
    tmp_path: Path, line: str, category: Category
) -> None:
    (tmp_path / "train.log").write_text(f"step 120 done\n{line}\n")
    _, _, logs, _, _ = gather([tmp_path], None, None)
    (row,) = (one for one in logs.evidence if one.text == line)
    assert row.category is category
