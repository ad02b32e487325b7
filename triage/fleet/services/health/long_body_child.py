"""The child that reads a long body of check results: what swells there takes nothing else along.

The body comes whole on stdin; stdout gets one line of JSON on the report, then one a result.
"""

import json
import sys
from itertools import chain
from typing import Any

from triage.fleet.services.health.long_body import ARTIFACT, pack_result
from triage.formats.registry import identify_checks
from triage.sandbox.confinement.confine import confine, restrict


def main() -> int:
    """``python -m triage.fleet.services.health.long_body_child MEMORY_BYTES ASKED``.

    ``ASKED`` is a JSON object.
    """
    restrict(int(sys.argv[1]))
    confine(())
    asked: dict[str, Any] = json.loads(sys.argv[2])
    body = sys.stdin.buffer.read()
    format_ = identify_checks(body)
    if format_ is None:
        return 1
    found = format_.checks(body, ARTIFACT, **asked)
    about = {
        "format": found.format,
        "not_understood": [[one.line, one.why] for one in found.not_understood],
        "num_not_understood": found.num_not_understood,
        "first_line": found.first_line,
        "last_line": found.last_line,
    }
    for one in chain([about], map(pack_result, found.results)):
        sys.stdout.write(json.dumps(one) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
