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
