"""What one file of telemetry gave as plain values for a stored extract, and back."""

from typing import Any, Final

import numpy as np

from triage.errors import Corrupt
from triage.parsers.extract.digest import Interned
from triage.parsers.telemetry.file import Form, TelemetryFile
from triage.parsers.telemetry.grid import BASE_NS, Grid
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import SeriesKey

__all__ = ["cell_bytes", "telemetry_from", "telemetry_values"]

CELL: Final = np.dtype("<f4")
METRICS: Final = {str(one): one for one in Metric}
FORMS: Final = {str(one): one for one in Form}
# A week in stretches of 30 s, and all years that a clock can say.
MOST_STRETCHES: Final = 1 << 16
MOST_DOUBLINGS: Final = 24


def telemetry_values(file: TelemetryFile | None) -> list[Any] | None:
    """Everything but the cells of the grid, which go beside it: see :func:`cell_bytes`."""
    if file is None:
        return None
    grid = file.grid
    return [
        file.artifact,
        str(file.form),
        file.samples,
        file.zoneless,
        None
        if grid is None
        else [
            [[str(key.metric), key.node, key.gpu, key.part, key.rack] for key in grid.series],
            grid.start_ns,
            grid.width_ns,
            int(grid.value.shape[1]),
        ],
    ]


def cell_bytes(file: TelemetryFile | None) -> bytes:
    """The cells of the grid, row by row."""
    if file is None or file.grid is None:
        return b""
    return file.grid.value.astype(CELL).tobytes()


def telemetry_from(values: Any, cells: bytes, interned: Interned) -> TelemetryFile | None:
    """The file of :func:`telemetry_values`. ValueError, TypeError and KeyError mean damage, as
    :class:`Corrupt` does.
    """
    if values is None:
        return None
    artifact, form, samples, zoneless, table = values
    if table is None:
        return TelemetryFile(artifact, FORMS[form], samples, zoneless, None)
    keys, start_ns, width_ns, columns = table
    doublings = (width_ns // BASE_NS).bit_length() - 1
    if not 0 <= doublings <= MOST_DOUBLINGS or width_ns != BASE_NS << doublings:
        raise Corrupt("a stored extract holds telemetry of no known width")
    if not 0 < columns <= MOST_STRETCHES or type(start_ns) is not int:
        raise Corrupt("a stored extract holds telemetry of no known length")
    series = tuple(
        SeriesKey(METRICS[metric], *(interned.text(one) for one in (node, gpu, part, rack)))
        for metric, node, gpu, part, rack in keys
    )
    value = np.frombuffer(cells, CELL).reshape(len(series), columns).astype(np.float32)
    return TelemetryFile(
        artifact, FORMS[form], samples, zoneless, Grid(series, start_ns, width_ns, value)
    )
