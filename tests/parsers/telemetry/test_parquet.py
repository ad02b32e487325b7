"""Parquet where pyarrow is installed, and a clear refusal where it is not."""

import builtins
import importlib.util
import io
from collections.abc import Mapping, Sequence

import pytest

from tests.parsers.telemetry.forms import samples_of
from triage.errors import Corrupt, Forbidden
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import Form, SeriesKey

MISSING = importlib.util.find_spec("pyarrow") is None
needs_pyarrow = pytest.mark.skipif(MISSING, reason="pyarrow is optional and not installed")


def test_without_pyarrow_a_file_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def without(
        name: str, variables: Mapping[str, object] | None = None,
        more: Mapping[str, object] | None = None, wanted: Sequence[str] | None = (), level: int = 0,
    ) -> object:  # fmt: skip
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, variables, more, wanted or (), level)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(
        Forbidden, match=r"install `nccl-triage\[telemetry\]`, or give the table as"
    ):
        samples_of(b"PAR1 and so on")


def parquet(columns: dict[str, list[object]]) -> bytes:
    from pyarrow import table
    from pyarrow.parquet import write_table

    out = io.BytesIO()
    write_table(table(columns), out)
    return out.getvalue()


@needs_pyarrow
def test_reads_wide_and_long_tables() -> None:
    at = [1795143855, 1795143885]
    wide = parquet({"at": at, "node": ["n3", "n3"], "gpu": ["0", "0"], "power_w": [690.5, None]})
    long = parquet({"at": at, "node": ["n3"] * 2, "gpu": ["0"] * 2,
                    "metric": ["power_w", "unheard"], "value": [690.5, 1.0]})  # fmt: skip

    expected = [(SeriesKey(Metric.POWER_W, "n3", "0"), 1795143855.0, 690.5)]
    assert samples_of(wide) == samples_of(long) == expected


@needs_pyarrow
@pytest.mark.parametrize(
    "data", [b"PAR1" + b"\x00" * 500, b"PAR1PAR1", b"PAR1" + b"\xff" * 9000 + b"PAR1"]
)
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(Corrupt, match="cannot be read"):
        samples_of(data, form=Form.PARQUET)


@needs_pyarrow
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "number"])
def test_a_time_that_no_clock_shows_is_none_and_not_another(unit: str) -> None:
    import pyarrow as pa

    at = pa.array([-(1 << 52), 1 << 52, 253402300799, -62135596800, 9, None])
    column = at if unit == "number" else at.cast(pa.timestamp(unit))
    found = samples_of(parquet({"at": column, "node": ["n"] * 6, "power_w": [1.0, 2, 3, 4, 5, 6]}))

    step = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "number": 1}[unit]
    assert (9 / step, 5.0) in [(when, value) for _, when, value in found]
    for _, when, value in found:
        told = at[int(value) - 1].as_py()
        assert when == pytest.approx(told / step) or unit == "number"
    assert 6.0 not in {value for _, _, value in found}
