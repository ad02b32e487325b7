"""A pulled folder to the service, by the spool: what cannot be sent now is sent later."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.artifact import JOB_LOG, Artifact, Deadline
from triage.collectors.bundle import Bounds, pack
from triage.collectors.credentials import read_token
from triage.collectors.endpoint import parse_endpoint
from triage.collectors.live.folder import list_files
from triage.collectors.send import ACCEPTED, Delivery
from triage.collectors.spool import SCRATCH, Label, Spool, choose_default_folder
from triage.collectors.surroundings import find_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.live.options import LiveOptions

_SEND_S = 60.0
_MAX_FILE = 256 << 20


def send_folder(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None],
    seconds: float = _SEND_S,
) -> int:
    """Send all files below ``root`` as one bundle; 0 where the service has it, else 1.

    Raises Misuse for an address that cannot be used, and OSError where the spool is not writable.
    """
    deadline = Deadline(seconds)
    endpoint = parse_endpoint(options.url, ca_file=options.ca_file, insecure=False)
    token = read_token(options.token_file, environment)
    if token.why:
        say(token.why)
        return 1
    spool = Spool(options.spool or choose_default_folder(environment))
    artifacts = [
        Artifact(JOB_LOG, member, path, _MAX_FILE, False, None, True, False)
        for member, path in list_files(root)
    ]
    label = _make_label(root, options, environment)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=spool.root) as scratch:
        bounds = Bounds(options.max_bytes, deadline.part(0.5))
        with spool.writing(label) as draft:
            packed = pack(artifacts, draft.file, scratch, bounds)
    done = Delivery(spool, endpoint, token).deliver(draft.path, deadline)
    if done is None:
        return 0
    answer, size_bytes = done
    if answer.kind == ACCEPTED:
        files = sum(packed.counts.values())
        say(f"sent {files} files, {size_bytes / 1e6:.1f} MB; incident {answer.incident}")
        return 0
    say(f"not sent: {answer.text}; it waits in {spool.root}")
    return 1


def _make_label(root: str, options: LiveOptions, environment: Mapping[str, str]) -> Label:
    job = options.job or ""
    with suppress(OSError, ValueError), open(os.path.join(root, "job.json"), "rb") as file:
        job = job or str(json.load(file).get("job_id", ""))
    cluster = find_cluster(options.cluster, environment)
    attempt = environment.get("TRIAGE_ATTEMPT", "")
    return Label(job or "unnamed", "", "", "gzip", cluster, attempt)
