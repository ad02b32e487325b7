"""The kinds of files that the service keeps, as senders declare them and answers print them."""

from enum import StrEnum


class FileKind(StrEnum):
    """What a stored file is."""

    FLIGHT_RECORDER = "flight_recorder"
    KERNEL_LOG = "kernel_log"
    JOB_LOG = "job_log"
    JOB_JSON = "job_json"
    TELEMETRY = "telemetry"


# A sender may say of a file that it is one of these; job.json is known by its name.
DECLARED = tuple(kind for kind in FileKind if kind is not FileKind.JOB_JSON)
LOGS = frozenset({FileKind.KERNEL_LOG, FileKind.JOB_LOG})


def get_file_kind(name: str | None) -> FileKind | None:
    """The kind of this name; None for no name, and for one that another release wrote."""
    return next((kind for kind in FileKind if kind == name), None)
