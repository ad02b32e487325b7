"""Answers of the Prometheus API, however large and however they are printed."""

import json

import pytest

from tests.parsers.telemetry.forms import Stream, samples_of
from triage.errors import Corrupt
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.query_result import read_query_result
from triage.parsers.telemetry.samples import Form, SeriesKey, Tally

TEMP = SeriesKey(Metric.GPU_TEMP_C, "n3", "0")


def series(
    name: str, values: list[list[object]], key: str = "values", **labels: str
) -> dict[str, object]:
    return {"metric": {"__name__": name, **labels}, key: values}


def answer(*result: dict[str, object], kind: str = "matrix") -> dict[str, object]:
    return {"status": "success", "data": {"resultType": kind, "result": list(result)}}


TWO = answer(
    series(
        "DCGM_FI_DEV_GPU_TEMP", [[1795143855, "61"], [1795143870.5, "62.5"]], gpu="0", Hostname="n3"
    ),
    series("up", [[1795143855, "1"]]),
    series("power_w", [[1795143855, "690"]], node="n3"),
)


@pytest.mark.parametrize("indent", [None, 2])
def test_reads_all_series_of_a_matrix(indent: int | None) -> None:
    assert samples_of(json.dumps(TWO, indent=indent)) == [
        (TEMP, 1795143855.0, 61.0),
        (TEMP, 1795143870.5, 62.5),
        (SeriesKey(Metric.POWER_W, "n3"), 1795143855.0, 690.0),
    ]


def test_reads_a_vector() -> None:
    one = {"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "0", "Hostname": "n3"},
           "value": [1795143855, "61"]}  # fmt: skip

    assert (
        samples_of(json.dumps(answer(one, one, kind="vector"))) == [(TEMP, 1795143855.0, 61.0)] * 2
    )


def test_several_answers_may_stand_behind_one_another() -> None:
    text = json.dumps(TWO)

    assert samples_of(f"{text}\n{text}") == samples_of(text) * 2


def test_a_series_without_a_sample_ends_nothing() -> None:
    text = json.dumps(
        answer(series("power_w", []), series("power_w", [[1795143855, "1"]], node="n3"))
    )

    assert [value for _, _, value in samples_of(text)] == [1.0]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_finite_number_is_left_out(value: str) -> None:
    text = json.dumps(answer(series("power_w", [[1795143855, value], [1795143856, "5"]])))

    assert [one for _, _, one in samples_of(text)] == [5.0]


@pytest.mark.parametrize("at", ["36893488147.419", "1e10", "-1e10", "1e300", "99999999999"])
def test_a_time_that_no_clock_shows_is_none_and_not_another(at: str) -> None:
    text = json.dumps(answer(series("power_w", [[float(at), "61"], [5, "62"]], node="n3")))

    assert [(when, value) for _, when, value in samples_of(text)] == [(5.0, 62.0)]


def test_an_odd_value_costs_its_part_and_no_more() -> None:
    tally = Tally()
    text = json.dumps(
        answer(series("power_w", [[1795143855, "warm"]]), series("power_w", [[1, "5"]]))
    )

    assert [one for _, _, one in samples_of(text, tally=tally)] == [5.0]
    assert sum(count for count, _ in tally.skipped.values()) == 1


def test_an_answer_larger_than_a_piece_is_read_in_parts() -> None:
    values = [[1795143855 + k, str(k)] for k in range(200_000)]
    text = json.dumps(
        answer(series("power_w", values, node="n3"), series("up", values), TWO["data"]["result"][0])
    )  # type: ignore[index]

    found = samples_of(text)

    assert [value for _, _, value in found] == [*map(float, range(200_000)), 61.0, 62.5]


@pytest.mark.parametrize("cut", [60, 100, -3])
def test_an_answer_that_is_cut_between_series_gives_what_came_before(cut: int) -> None:
    text = json.dumps(TWO)

    found = samples_of(text[:cut], form=Form.QUERY_RESULT)

    assert found == samples_of(text)[: 3 if cut < 0 else 0]


@pytest.mark.parametrize("filling", ["9", ",", "[", "[1,", " "])
@pytest.mark.parametrize("key", ["value", "values"])
def test_a_value_that_does_not_end_is_refused_before_all_of_it_is_held(filling, key) -> None:
    text = json.dumps(TWO)[:-3] + f',{{"metric":{{"__name__":"power_w"}},"{key}":[[1,"'
    text += filling * ((32 << 20) // len(filling))
    stream = Stream(text.encode())

    with pytest.raises(Corrupt, match="longer than a number"):
        list(read_query_result(stream.read, Tally(), None))
    assert stream.source.tell() < 8 << 20


def test_an_answer_that_is_cut_within_a_series_is_refused() -> None:
    with pytest.raises(Corrupt, match="breaks off within the values"):
        samples_of(json.dumps(TWO)[:-8])


@pytest.mark.parametrize(
    "data",
    [b"{" * 100_000, b'{"metric":' * 20_000, b'"metric":{' + b'"a":"' * 20_000, b"]" * 100_000,
     b'{"metric":{"__name__":"power_w"},"values":[' + b"[" * 50_000 + b"]]", b'"metric"' * 200_000],
)  # fmt: skip
def test_hostile_text_ends_and_gives_nothing(data: bytes) -> None:
    assert samples_of(data, form=Form.QUERY_RESULT) == []
