"""Small files of telemetry in every form, and what is read out of them."""

import io
from collections.abc import Iterator

from triage.formats.registry import TELEMETRY, identify_telemetry
from triage.formats.telemetry import TelemetryFormat
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.telemetry.samples import Form, SeriesKey, Tally

# Metric, node, gpu, part; seconds since the epoch; value.
Triple = tuple[SeriesKey, float, float]


class Stream:
    """Bytes as a reader asks for them."""

    def __init__(self, data: bytes) -> None:
        self.source = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self.source.read(size)


def samples_of(
    text: str | bytes,
    artifact: str = "telemetry.txt",
    tally: Tally | None = None,
    form: Form | None = None,
) -> list[Triple]:
    """All samples of ``text``, in the order of the file."""
    data = text.encode() if isinstance(text, str) else text
    if form is None:
        row = identify_telemetry(data)
    else:
        row = next(row for row in TELEMETRY if row.form is form)
    assert row is not None, "nobody claims it"
    return list(unpacked(data, artifact, tally or Tally(), row))


def unpacked(data: bytes, artifact: str, tally: Tally, row: TelemetryFormat) -> Iterator[Triple]:
    for batch in row.read_samples(Stream(data).read, tally, parse_node(artifact)):
        for index, at_ns, value in zip(
            batch.series_index.tolist(), batch.at_ns.tolist(), batch.value.tolist(), strict=True
        ):
            yield batch.series[index], at_ns / 1e9, value
