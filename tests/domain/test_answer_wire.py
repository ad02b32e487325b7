"""Stored answers: everything comes back, older ones too, and damage is found."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import triage
from triage.domain.answer_wire import MAGIC, answer_from_bytes, answer_to_bytes
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.report import Answer, Coverage, JobFacts, Refused, Verdict
from triage.errors import Corrupt

INCIDENTS = Path(__file__).parents[1] / "incidents"
FOLDERS = sorted(path.parent for path in INCIDENTS.glob("*/expected.json"))


def answer(**changes: object) -> Answer:
    verdict = Verdict(
        VerdictKind.INCONCLUSIVE, Category.NCCL_TIMEOUT, 0.5, "Nothing.", Action.INVESTIGATE
    )
    return replace(Answer(JobFacts(), verdict), **changes)


def resealed(value: object) -> bytes:
    return MAGIC + zstandard.ZstdCompressor().compress(to_exact_json(value))


def plain(data: bytes) -> dict[str, object]:
    return from_exact_json(zstandard.ZstdDecompressor().decompress(data[4:]))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_answer_of_an_incident_comes_back_whole(folder: Path) -> None:
    one = triage.analyze(folder).answer
    data = answer_to_bytes(one)
    found = answer_from_bytes(data)
    assert found == one
    assert repr(found) == repr(one)  # 1 is 1.0 and an enum is its text; here they are not
    assert answer_to_bytes(found) == data


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_comes_back(text: str) -> None:
    one = answer(coverage=Coverage(unreadable=(Refused(text, text),), notes=(text,)))
    assert answer_from_bytes(answer_to_bytes(one)) == one


def test_an_older_answer_takes_defaults_and_a_newer_one_is_read_as_far_as_it_is_known() -> None:
    value = plain(answer_to_bytes(answer()))
    del value["waits"]
    value["verdict"]["cordon_reason"] = "later"  # type: ignore[index]
    assert answer_from_bytes(resealed(value)) == answer()


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (("verdict", "kind"), "no such kind"),
        (("verdict", "confidence"), "0.5"),
        (("verdict", "at"), "yesterday"),
        (("verdict", "cordon"), "n0"),
        (("coverage", "dumps_read"), True),
        (("coverage", "notes"), [1]),
        (("job",), None),
        (("verdict",), {}),
    ],
    ids=lambda one: ".".join(one) if isinstance(one, tuple) else repr(one),
)
def test_a_value_of_another_type_is_damage(path: tuple[str, ...], bad: object) -> None:
    value = plain(answer_to_bytes(answer()))
    place = value
    for name in path[:-1]:
        place = place[name]  # type: ignore[assignment]
    place[path[-1]] = bad
    with pytest.raises(Corrupt):
        answer_from_bytes(resealed(value))


def test_cut_and_flipped_bytes_are_found() -> None:
    one = triage.analyze(FOLDERS[0]).answer
    data = answer_to_bytes(one)
    for size in range(0, len(data), 7):
        with pytest.raises(Corrupt):
            answer_from_bytes(data[:size])
    chance = random.Random(4)
    for at in chance.sample(range(4, len(data)), 150):
        bad = bytearray(data)
        bad[at] ^= 1 << chance.randrange(8)
        try:
            found = answer_from_bytes(bytes(bad))
        except Corrupt:
            continue
        assert found == one


@pytest.mark.parametrize(
    "value", [1, "é", [1.5, None], {"a": "\ud800"}, {"big": 1 << 80}, [-(1 << 63)], ["\x00"]]
)
def test_exact_json_is_exact(value: object) -> None:
    assert from_exact_json(to_exact_json(value)) == value


@pytest.mark.parametrize(
    "data", [b"", b"F", b"S", b"X{}", b"F{", b"S{", b"F\xff", b"S" + b"[" * 9**5]
)
def test_bytes_that_nobody_wrote_are_damage(data: bytes) -> None:
    with pytest.raises(Corrupt):
        from_exact_json(data)


def test_what_is_no_plain_value_is_not_written() -> None:
    with pytest.raises(TypeError):
        to_exact_json({"a": object(), "b": "\ud800"})
