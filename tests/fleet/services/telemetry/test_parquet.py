"""Parquet comes in through a process of its own: the same samples, and it dies alone."""

import io
import os
import signal
import subprocess

import pytest

from tests.fleet.services.telemetry.test_ingest import at, state
from triage.errors import Corrupt, Unprocessable
from triage.fleet.services.telemetry import parquet_child as telemetry_parquet
from triage.fleet.services.telemetry.ingest import TelemetryTarget, take_telemetry
from triage.sandbox import one_shot
from triage.services.context import Context

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "at": [int(at(minute).timestamp()) for minute in range(90)],
    "node": ['n"3', "n4,b"] * 45,
    "gpu": ["0000:5d:00"] * 90,
    "rack": ["r7"] * 90,
    "gpu_temp_c": [60.0 + minute for minute in range(89)] + [None],
    "ecc_dbe_total": [float(minute // 10) for minute in range(90)],
}


def parquet() -> bytes:
    from pyarrow.parquet import write_table

    out = io.BytesIO()
    write_table(pa.table(COLUMNS), out)
    return out.getvalue()


def text() -> bytes:
    lines = [",".join(COLUMNS)]
    for at_s, node, *cells in zip(*COLUMNS.values(), strict=True):
        doubled = str(node).replace('"', '""')
        shown = ["" if cell is None else str(cell) for cell in cells]
        lines.append(",".join([str(at_s), f'"{doubled}"', *shown]))
    return "\n".join(lines).encode() + b"\n"


def post(ctx: Context, data: bytes) -> dict[str, object]:
    return take_telemetry(ctx, TelemetryTarget(), io.BytesIO(data).read, None).to_dict()


def test_a_file_gives_the_samples_that_its_text_gives(ctx: Context) -> None:
    told = post(ctx, parquet())
    assert (told["format"], told["samples"], told["kept"], told["nodes"]) == (
        "parquet",
        179,
        179,
        2,
    )
    before = state(ctx)
    again = post(ctx, text())
    assert (again["kept"], again["repeated"]) == (0, 179)
    assert state(ctx) == before


@pytest.mark.parametrize("data", [b"PAR1" + bytes(500) + b"PAR1", parquet()[:-40]], ids=len)
def test_a_damaged_file_is_refused(ctx: Context, data: bytes) -> None:
    with pytest.raises(Unprocessable, match="cannot be read: a Parquet file that cannot be read"):
        post(ctx, data)


@pytest.mark.parametrize("death", [signal.SIGSEGV, signal.SIGKILL])
def test_a_reader_that_dies_refuses_its_file_alone(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, death: signal.Signals
) -> None:
    real = subprocess.Popen

    def dies(*args: object, **given: object) -> "subprocess.Popen[bytes]":
        child = real(*args, **given)  # type: ignore[call-overload]
        os.kill(child.pid, death)
        return child  # type: ignore[no-any-return]

    monkeypatch.setattr(one_shot.subprocess, "Popen", dies)
    with pytest.raises(Unprocessable, match="reader ended before its time"):
        post(ctx, parquet())
    monkeypatch.undo()
    assert post(ctx, parquet())["kept"] == 179


def test_a_slow_one_is_ended_and_none_is_left_behind() -> None:
    with telemetry_parquet.convert_parquet_to_text(io.BytesIO(parquet()), 1 << 33, 0.001) as found:
        with pytest.raises(Corrupt, match="reader ended before its time"):
            found.read(1 << 16)
        child = found.child
    assert child.returncode == -signal.SIGKILL
