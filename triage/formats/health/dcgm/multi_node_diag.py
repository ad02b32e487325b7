"""``dcgmi mndiag -j``: a diagnosis over several nodes, each result with its host.

::

    {"DCGM Diagnostic": "DCGM Multi-Node Diagnostic",
     "hosts": [{"host_id": 1, "hostname": "n3"}],
     "test_categories": [{"category": "Multi-Node Tests", "tests": [{"name": "mnubergemm",
       "results": [{"host_id": 1, "entity_group": "GPU", "entity_id": 3, "status": "Fail",
         "warnings": [{"error_id": 129, "error_severity": 2, "warning": "NCCL error: ..."}]}]}]}]}

A test of all nodes fails on whoever waited, too: an error of NCCL alone warns, it names nobody.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.dcgm.dcgm_diag import OUTCOMES, category_of, parts_of, words_of
from triage.formats.health.dcgm.error_ids import names_nobody
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, check_name

__all__ = ["MULTI_NODE_DIAG"]

CLAIM: Final = re.compile(r'"DCGM Diagnostic"\s{0,20}:\s{0,20}"DCGM Multi-Node Diagnostic"')


def claimed(head: str) -> bool:
    return CLAIM.search(head) is not None and head.lstrip("\ufeff \t\r\n").startswith("{")


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        if not isinstance(document, Mapping):
            continue
        hosts = {
            host.get("host_id"): text_in(host, "hostname")
            for host in items_of(document.get("hosts"))
            if isinstance(host.get("host_id"), int)
        }
        for fault in items_of(document.get("global_errors")):
            detail = text_in(fault, "error", "warning", "message")
            reading.add("dcgm.mndiag", Outcome.WARN, detail=detail, line=1)
        for category in items_of(document.get("test_categories")):
            for test in items_of(category.get("tests")):
                of_test(test, hosts, reading)


def of_test(test: Mapping[str, Any], hosts: Mapping[Any, str], reading: Reading) -> None:
    """The results of one test on each of its hosts."""
    name = check_name("dcgm", text_in(test, "name"))
    trouble = text_in(test, "mpi_error")
    if trouble:
        reading.add(name, Outcome.WARN, detail=trouble, line=1)
    for result in items_of(test.get("results")):
        status = text_in(result, "status").lower()
        outcome = OUTCOMES.get(status)
        if outcome is None:
            reading.skip(1, f"{name}: unknown status {status[:40]!r}")
            continue
        host = result.get("host_id")
        words = words_of(result)
        if outcome is Outcome.FAIL and names_nobody(result):
            outcome = Outcome.WARN
        for part in parts_of(result):
            reading.add(
                name,
                outcome,
                part=part,
                node=(hosts.get(host) if isinstance(host, int) else None) or None,
                detail=words,
                category=category_of(name.removeprefix("dcgm."), "", result, words),
                line=1,
            )


MULTI_NODE_DIAG: Final = CheckFormat(
    "dcgm_mndiag", claimed, read, lines=False, words=("DCGM Multi-Node Diagnostic",)
)
