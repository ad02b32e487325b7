"""Results of checks in a body: a short one is read here, a long one in a process of its own.

A report of one node has some kilobytes. What is longer may be many reports in one, or made to
hurt: 15 MB of empty JSON lists are 400 MB of objects, built while nothing else of this process
runs.
"""

import json
import sys
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Final

from triage.domain.answer_wire import make_reader
from triage.domain.body import Body
from triage.errors import Corrupt
from triage.formats.health.reading import Checks
from triage.sandbox.confinement.confine import confine, restrict
from triage.sandbox.one_shot import run_child
from triage.services.uploads.body import PeekedReader, read_first_bytes

# `nvidia-smi -q` of sixteen GPUs has 150 KB; at worst this is some MB of objects.
_SHORT_BYTES: Final = 256 << 10
MEMORY_BYTES: Final = 1 << 30
DEADLINE_S: Final = 60.0
_DIED: Final = "it takes more memory or time than such a report does: send fewer at once"
_CHILD: Final = "triage.fleet.services.health.long_body"
_ARTIFACT: Final = "body"
_PIECE: Final = 1 << 20


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
        whole = b"".join(iter(partial(output.read, _PIECE), b""))
    try:
        found: Checks = make_reader(Checks)(json.loads(whole))
    except ValueError as error:
        raise Corrupt(_DIED) from error
    return found


def main() -> int:
    """The child: ``python -m triage.fleet.services.health.long_body MEMORY_BYTES ASKED``.

    ``ASKED`` is a JSON object. The body comes whole on stdin; stdout gets what was
    read of it as JSON.
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
    json.dump(asdict(found), sys.stdout, default=datetime.isoformat)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
