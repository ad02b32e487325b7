"""Results of checks in a body: a short one is read here, a long one in a process of its own.

A report of one node has some kilobytes. What is longer may be many reports in one, or made to
hurt: 15 MB of empty JSON lists are 400 MB of objects, built while nothing else of this process
runs.
"""

import json
import sys
from dataclasses import asdict, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from triage.domain.body import Body
from triage.domain.category import Category
from triage.domain.health import Bandwidth, CheckResult, Outcome
from triage.errors import Corrupt
from triage.formats.health.reading import Checks, NotUnderstood
from triage.sandbox.confinement.confine import confine, restrict
from triage.sandbox.one_shot import Output, run_child
from triage.services.uploads.body import PeekedReader, read_first_bytes

# `nvidia-smi -q` of sixteen GPUs has 150 KB; at worst this is some MB of objects.
_SHORT_BYTES: Final = 256 << 10
MEMORY_BYTES: Final = 1 << 30
DEADLINE_S: Final = 60.0
_DIED: Final = "it takes more memory or time than such a report does: send fewer at once"
_CHILD: Final = "triage.fleet.services.health.long_body"
_ARTIFACT: Final = "body"


def read_body_checks(body: Body, *, node: str | None, busbw_gbps: float | None) -> Checks | None:
    """The results in a body of bounded length; None where no format claims it.

    ``node`` is whose they are where the text does not say; ``busbw_gbps`` is the bus bandwidth
    in GB/s that NCCL tests are held against. Raises :class:`Corrupt` for a long one that takes
    too much, and as the body does.
    """
    from triage.formats.registry import identify_checks

    head = read_first_bytes(body, _SHORT_BYTES + 1)
    format_ = identify_checks(head)
    if format_ is None:
        return None
    if len(head) <= _SHORT_BYTES:
        return format_.checks(head, _ARTIFACT, node=node, busbw_gbps=busbw_gbps)
    asked = json.dumps({"node": node, "busbw_gbps": busbw_gbps})
    arguments = [str(MEMORY_BYTES), asked]
    with run_child(
        _CHILD, PeekedReader(head, body), arguments=arguments, deadline_s=DEADLINE_S, died=_DIED
    ) as output:
        return _unpack_output(output)


def _unpack_output(output: Output) -> Checks:
    """What the child answers: what is known of the report, then a result a line."""
    lines = output.lines()
    try:
        packed = json.loads(next(lines, b""))
        packed["not_understood"] = tuple(NotUnderstood(**one) for one in packed["not_understood"])
        return Checks(**packed, results=tuple(_unpack_result(json.loads(line)) for line in lines))
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(_DIED) from error


def _unpack_result(packed: dict[str, Any]) -> CheckResult:
    """A result as JSON held it."""
    at, category, bandwidth = packed["at"], packed["category"], packed["bandwidth"]
    return CheckResult(
        **packed
        | {
            "outcome": Outcome(packed["outcome"]),
            "at": None if at is None else datetime.fromisoformat(at),
            "category": None if category is None else Category(category),
            "bandwidth": None if bandwidth is None else Bandwidth(**bandwidth),
        }
    )


def main() -> int:
    """The child: ``python -m triage.fleet.services.health.long_body MEMORY_BYTES ASKED``.

    ``ASKED`` is a JSON object. The body comes whole on stdin; stdout gets one line of JSON on the
    report, then one a result.
    """
    restrict(int(sys.argv[1]))
    confine(())
    from triage.formats.registry import identify_checks

    asked: dict[str, Any] = json.loads(sys.argv[2])
    body = sys.stdin.buffer.read()
    format_ = identify_checks(body)
    if format_ is None:
        return 1
    found = format_.checks(body, _ARTIFACT, **asked)
    about = asdict(replace(found, results=()))
    del about["results"]
    for one in chain([about], map(asdict, found.results)):
        sys.stdout.write(json.dumps(one, default=datetime.isoformat) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
