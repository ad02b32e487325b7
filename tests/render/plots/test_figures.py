"""Plots: what is drawn for 8, 64 and 16,384 ranks, and what is said where nothing can be."""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

from tests.render import answers
from triage.domain.category import Category
from triage.domain.report import Moment, Waits
from triage.render.data.tables import LATENESS, table
from triage.render.pictures.graph import boxes
from triage.render.plots.figures import Plots
from triage.render.plots.style import STYLES


@pytest.fixture(autouse=True)
def figures():
    mpl.use("Agg")
    yield
    pyplot.close("all")


def late(num_ranks, **slow):
    rows = [
        {"rank": r, "node": None if r % 2 else f"n{r // 8}", "late_ms": slow.get(f"r{r}", 1.0),
         "held_share": 0.1, "num_matched": 40}
        for r in range(num_ranks)
    ]  # fmt: skip
    return table(sorted(rows, key=lambda row: -row["late_ms"]), LATENESS)


def plots(answer, lateness=None):
    return Plots(answer, lambda: late(0) if lateness is None else lateness)


def texts(ax):
    """Every word that stands in the picture, after it was drawn."""
    ax.figure.canvas.draw()
    found = [text.get_text() for text in ax.texts]
    found += [tick.get_text() for tick in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    found += [ax.get_title(loc="left")]
    legend = ax.get_legend()
    return found + ([text.get_text() for text in legend.get_texts()] if legend else [])


def image(ax):
    return ax.collections[0].get_array()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("num_ranks", [1, 8, 64, 1000, 16_384])
def test_every_rank_has_one_square(num_ranks, named):
    answer = answers.culprit(num_ranks, culprits=(0,), named=named)
    ax = plots(answer).ranks()
    assert isinstance(ax, Axes)
    assert image(ax).count() == num_ranks
    assert (image(ax) == 0).sum() == 1
    assert "culprit 1" in texts(ax)


def test_a_column_is_a_node():
    ax = plots(answers.culprit()).ranks()
    assert image(ax).shape == (8, 8)
    assert np.argwhere(image(ax) == 0).tolist() == [[3, 3]]
    assert {"rank 27, n3", "n0", "n7", "64 ranks, local rank by node"} <= set(texts(ax))


def test_bands_of_nodes_are_a_row_apart():
    ax = plots(answers.culprit(16_384)).ranks()
    assert image(ax).shape == (16 * 9 - 1, 128)
    assert image(ax)[8].count() == 0
    assert "n0 to\nn127" in texts(ax)


def test_ranks_without_nodes_stand_in_rows():
    ax = plots(answers.culprit(named=False)).ranks()
    assert image(ax).shape == (4, 16)
    assert "64 ranks, in rows; no node is known" in texts(ax)


def test_a_state_is_told_by_a_mark_too():
    marks = {style.mark for name, style in STYLES.items() if name not in ("idle", "unknown")}
    assert len(marks) == len(STYLES) - 2
    states = ("culprit", "possible", "no_dump", "waiting", "idle", "unknown")
    answer = answers.culprit()
    ranks = tuple(replace(one, state=states[one.rank % 6]) for one in answer.ranks)
    ax = plots(replace(answer, ranks=ranks)).ranks()
    assert len(ax.collections) == 1 + 3
    assert {"no dump 11", "idle 10", "unknown 10"} <= set(texts(ax))


def test_marks_stay_few_where_half_the_ranks_are_named():
    answer = answers.culprit(16_384)
    ranks = tuple(replace(one, state="possible") for one in answer.ranks)
    assert len(plots(replace(answer, ranks=ranks)).ranks().collections) == 1


def test_the_graph_has_all_boxes_and_arrows():
    waits = answers.culprit().waits
    ax = plots(answers.culprit()).waits()
    kinds = [type(patch).__name__ for patch in ax.patches]
    assert kinds.count("Polygon") == len(boxes(waits)[0])
    assert kinds.count("FancyArrowPatch") == len(waits.edges)
    assert "CULPRIT rank 27" in texts(ax)


def timed(answer, *moments):
    stop = Moment(answers.AT, None, None, "stop", None, "the job stops")
    return replace(answer, timeline=(*moments, stop))


def moment(node, seconds, error_s=0.0):
    at = answers.AT + timedelta(seconds=seconds)
    return Moment(at, node, None, "xid", Category.GPU_HBM, "NVRM: Xid", error_s)


def test_the_time_line_has_a_row_a_node():
    answer = timed(answers.culprit(), moment("n3", -41), moment("n9", 300, error_s=60))
    ax = plots(answer).timeline()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["n3", "n9"]
    assert {"-41.0 s, xid, gpu_hbm", "the stop", "culprit"} <= set(texts(ax))
    # The doubt of one minute is a line; the sure time has none.
    assert [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2
            and 240 in line.get_xdata()]  # fmt: skip


def test_of_many_nodes_the_suspects_come_first():
    others = [moment(f"m{number}", -number) for number in range(1, 50)]
    ax = plots(timed(answers.culprit(), *others, moment("n3", -4000))).timeline(most=5)
    assert "n3" in [tick.get_text() for tick in ax.get_yticklabels()]
    assert len(ax.get_yticklabels()) == 5
    assert "45 more nodes in .timeline" in ax.get_title(loc="left")


@pytest.mark.parametrize("num_ranks", [8, 64, 16_384])
def test_the_suspected_rank_is_marked_and_named(num_ranks):
    answer = answers.culprit(num_ranks, culprits=(5,))
    ax = plots(answer, late(num_ranks, r5=220.0, r6=90.0)).lateness()
    assert "rank 5: 220 ms" in texts(ax)
    assert not any("rank 6" in text for text in texts(ax))


@pytest.mark.parametrize("name", ["ranks", "timeline", "waits", "lateness"])
def test_nothing_to_draw_is_said(name):
    bare = replace(answers.healthy(), ranks=(), waits=Waits(), timeline=())
    ax = getattr(plots(bare), name)()
    (text,) = ax.texts
    assert text.get_text().endswith(".")
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", ["ranks", "timeline", "waits", "lateness"])
def test_draws_on_the_axes_given(name):
    _, ax = pyplot.subplots()
    answer = timed(answers.culprit(), moment("n3", -41))
    assert getattr(plots(answer, late(64)), name)(ax) is ax


@pytest.mark.parametrize("name", ["ranks", "timeline", "waits", "lateness"])
def test_hostile_names_are_text(name):
    answer = answers.hostile()
    named = [replace(one, node="$x^{$\x1b[2J\u202e") for one in answer.ranks]
    answer = timed(replace(answer, ranks=tuple(named)), moment("$\\frac{$\x1b", -1))
    rows = late(8)
    rows["node"] = "$\\frac$\x1b"
    ax = getattr(plots(answer, rows), name)()
    assert not any(set(text) & set("\x1b\u202e\x07") for text in texts(ax))


def test_without_matplotlib_the_extra_is_named():
    code = """
import sys
sys.modules["matplotlib"] = None
from tests.render import answers
from triage.errors import UsageError
from triage.render.plots.figures import Plots
try:
    Plots(answers.culprit(), lambda: None).ranks()
except UsageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert "pip install 'nccl-triage[notebook]'" in done.stdout


def test_a_report_does_not_load_matplotlib():
    code = "import triage, sys; triage.Report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
