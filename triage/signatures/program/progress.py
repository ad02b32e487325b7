"""Lines of progress: where a job was, and that it moved.

The most frequent lines of any log, and noise for a verdict. Each trainer prints
one text that nobody else does, so that one literal finds its lines.
"""

import re
from collections.abc import Sequence

from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading

_NUMBER = r"[-+]?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,4})?|nan|inf)"

_LOSS = compile_re(
    rf"\b(?:\w{{1,20}}_|lm )?loss(?:es)?['\"]?\s?[:=]\s{{0,4}}['\"]?({_NUMBER})", re.IGNORECASE
)
_GRAD_NORM = compile_re(rf"grad[ _]norm['\"]?\s?[:=]\s{{0,4}}['\"]?({_NUMBER})", re.IGNORECASE)
_STEP_TIME_MS = compile_re(rf"elapsed time per iteration \(ms\): ({_NUMBER})")
_STEP_TIME_S = compile_re(
    rf"(?:train_step_timing in s|\btime|iter_time|step_time)['\"]?\s?[:=]\s{{0,4}}({_NUMBER})"
)


def values(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Loss, norm and step time of the line, as printed."""
    text = match.string
    fields: dict[str, str] = {}
    for name, pattern in (
        ("loss", _LOSS),
        ("grad_norm", _GRAD_NORM),
        ("step_time_s", _STEP_TIME_S),
    ):
        one = pattern.search(text)
        if one is not None:
            fields[name] = one[1]
    milliseconds = _STEP_TIME_MS.search(text)
    if milliseconds is not None:
        fields["step_time_s"] = f"{float(milliseconds[1]) / 1000:.6g}"
    return Reading(fields=fields)


SIGNATURES = load(__name__)
