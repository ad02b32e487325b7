"""An answer of the Prometheus API.

::

    {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, ...}]}}
"""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.telemetry.telemetry_format import ReadSamples, TelemetryFormat
from triage.parsers.telemetry.file import Form

_ANSWER: Final = compile_re(rb'\s*\{[^\[]{0,4096}"(?:resultType|result|status)"')


def _is_query_result(text: bytes) -> bool:
    """Whether a file that begins so is an answer of the API, with series in it."""
    return _ANSWER.match(text) is not None and b'"metric"' in text and b'"result"' in text


def _load_reader() -> ReadSamples:
    from triage.parsers.telemetry.query_result import read_query_result

    return read_query_result


QUERY_RESULT: Final = TelemetryFormat(Form.QUERY_RESULT, _is_query_result, _load_reader)
