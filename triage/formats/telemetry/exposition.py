"""The text that exporters of Prometheus print, such as dcgm-exporter.

::

    # TYPE DCGM_FI_DEV_GPU_TEMP gauge
    DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="n3"} 61 1795143855000
"""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.telemetry.telemetry_format import (
    MOST_LINES,
    ReadSamples,
    TelemetryFormat,
    iterate_whole_lines,
)
from triage.parsers.telemetry.file import Form
from triage.parsers.telemetry.metrics import find_metric

# `DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61`, with a time behind it or none.
_SAMPLE: Final = compile_re(
    rb"([A-Za-z_:][A-Za-z0-9_:]*)[ \t]*(?:\{[^\n]*\})?[ \t]+"
    rb"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|Inf)(?:[ \t]+-?[0-9]+)?[ \t]*"
)
_DESCRIBED: Final = compile_re(rb"# ?(?:HELP|TYPE) ([A-Za-z_:][A-Za-z0-9_:]*)")
# No line of the format begins so; most files are told by this alone.
_NO_NAME: Final = b"<[{0123456789"


def _is_exposition(text: bytes) -> bool:
    """Whether all lines are of the format, and one of them says what only a scrape says."""
    start = text.lstrip()[:1]
    if not start or start in _NO_NAME:
        return False
    sure = False
    samples = described = 0
    for line in iterate_whole_lines(text):
        if line.startswith(b"#"):
            described += 1
            sure = sure or _DESCRIBED.match(line) is not None
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            return False
        samples += 1
        sure = sure or find_metric(found[1].decode()) is not None
    return sure and (samples > 0 or described == MOST_LINES)


def _load_reader() -> ReadSamples:
    from triage.parsers.telemetry.exposition import read_exposition

    return read_exposition


EXPOSITION: Final = TelemetryFormat(Form.EXPOSITION, _is_exposition, _load_reader)
