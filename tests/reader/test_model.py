"""The model that is shipped: current, exact, and quiet where it cannot be used."""

import json
from pathlib import Path

import numpy as np
import pytest

from triage.errors import UnreadableModel, UsageError
from triage.reader.corpus import (
    CAUSES,
    HARMLESS,
    LABELS,
    LabelledLine,
    compute_digest,
    drop_copies,
    read_corpus,
    read_shipped,
)
from triage.reader.learn import fit_model, fit_temperature, learn_lines
from triage.reader.model import FORM, SHIPPED, load_model

MODEL = load_model()


def test_the_shipped_model_has_learned_the_lines_of_the_repository() -> None:
    """Else: python -m benchmarks.reader --write; a new signature alone asks for no new model."""
    assert MODEL.digest == compute_digest(drop_copies(read_shipped()))
    assert MODEL.labels == LABELS


def test_a_line_is_read_alike_whatever_lines_stand_beside_it() -> None:
    lines = [f"fan {k} of chassis {word} stopped" for k, word in enumerate(("a", "b" * 200, ""))]
    lines *= 200  # more than are scored at once
    together = MODEL.compute_probabilities(lines)
    alone = np.concatenate([MODEL.compute_probabilities([line]) for line in lines[:3]])
    assert np.allclose(together, np.tile(alone, (200, 1)), atol=1e-12)
    assert np.allclose(together.sum(axis=1), 1.0)


def test_a_line_of_nothing_is_no_error() -> None:
    assert MODEL.compute_probabilities(["", "\x00", "\ufffd" * 1_000]).shape == (3, len(LABELS))
    assert MODEL.compute_probabilities([]).shape == (0, len(LABELS))


def test_a_model_comes_back_as_it_was_written(tmp_path: Path) -> None:
    few = [
        LabelledLine("gpu", "me", "probe", "the accelerator is wedged"),
        LabelledLine("power", "me", "probe", "the feed has browned out"),
        LabelledLine(HARMLESS, "me", "probe", "the probe has begun"),
    ]
    model = fit_model(few, 0.8)
    model.save(tmp_path / "few.model")
    again = load_model(tmp_path / "few.model")

    line = "an accelerator is wedged"
    assert np.array_equal(again.compute_probabilities([line]), model.compute_probabilities([line]))
    assert (again.digest, again.examples, again.temperature) == (
        model.digest, model.examples, 0.8,
    )  # fmt: skip
    assert LABELS[int(model.compute_probabilities([line]).argmax())] == "gpu"
    assert again.find_nearest(line, "gpu") == "probe"
    assert again.find_nearest(line, "sdc") == ""


def _write_other_form(path: Path) -> None:
    with np.load(SHIPPED) as arrays:
        kept = dict(arrays)
    about = json.loads(kept["about"].tobytes()) | {"form": FORM + 1}
    kept["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **kept)


def _write_other_shape(path: Path) -> None:
    with np.load(SHIPPED) as arrays:
        kept = dict(arrays)
    np.savez(path, **(kept | {"weights": kept["weights"][:9]}))


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda path: None, id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(SHIPPED.read_bytes()[:9_000]), id="cut"),
        pytest.param(lambda path: path.write_bytes(b"\x80\x04K\x01."), id="a pickle"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(_write_other_form, id="another form"),
        pytest.param(_write_other_shape, id="another shape"),
        pytest.param(lambda path: np.savez(path, other=np.zeros(3)), id="other arrays"),
    ],
)
def test_what_is_no_model_is_refused_in_words(tmp_path: Path, write) -> None:
    path = tmp_path / "reader.npz"
    write(path)
    with pytest.raises(UnreadableModel, match=r"reader\.npz"):
        load_model(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gpu\tone column short", "line 1: 2 columns"),
        ("gpu\tprobe\twell\nbroken\tprobe\tthe label is none", "line 2: 'broken' is no label"),
    ],
)
def test_a_wrong_line_of_a_corpus_is_named(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "ours.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why):
        read_corpus(path)


def test_a_file_that_is_no_text_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "ours.tsv").write_bytes(b"gpu\tprobe\t\xff\xfe")
    with pytest.raises(UsageError, match="no UTF-8"):
        read_corpus(tmp_path / "ours.tsv")


def test_a_temperature_above_one_is_for_a_model_that_is_too_sure() -> None:
    sure = np.array([[0.99, 0.01]] * 10)
    assert fit_temperature(sure, np.array([0] * 7 + [1] * 3)) > 1.5
    assert fit_temperature(np.array([[0.7, 0.3]] * 10), np.array([0] * 10)) < 1.0


def test_a_team_teaches_words_that_nobody_else_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few lines of ours instead of all: a fit of these takes half a minute."""
    few = [line for line in read_shipped() if line.author == "signatures"][::48]
    monkeypatch.setattr("triage.reader.learn.read_shipped", lambda: few)
    words = ("zorbl the flim has quonked", "flim quonk seen by zorbl", "a quonked flim again")
    ours = [LabelledLine("nvlink", "ours", "zorbl", text) for text in words]

    before, after = learn_lines(ours, tmp_path / "ours.npz")
    assert (before, after) == (0, 3)
    likely = load_model(tmp_path / "ours.npz").compute_probabilities(["zorbl: flim quonks"])[0]
    assert CAUSES[int(likely[: len(CAUSES)].argmax())] == "nvlink"
    with pytest.raises(UsageError, match="no labelled lines"):
        learn_lines([], tmp_path / "none.npz")
    with pytest.raises(UsageError, match="cannot be written"):
        learn_lines(ours, tmp_path / "away" / "ours.npz")
