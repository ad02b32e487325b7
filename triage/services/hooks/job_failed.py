"""The job-failed hook: the ``job.json`` object, and what a Slurm epilogue knows of its job.

What a scheduler says in its own words (``nodelist``, ``SLURM_JOB_ID`` ...) becomes the facts
of ``job.json`` here, so that the script that sends it stays twenty lines of shell.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from triage.domain.facts import IGNORED
from triage.domain.failure_match import Failure, IgnoredField
from triage.domain.hosts import expand
from triage.domain.job import list_unreadable
from triage.domain.patterns import compile_re
from triage.errors import Place, Unprocessable
from triage.services.hooks.times import parse_moment

MAX_NAME: Final = 256
MAX_EXPECTED: Final = 10_000_000
_MAX_COLLECT_S: Final = 7 * 86400.0
_DIGITS: Final = compile_re(r"-?[0-9]{1,18}", re.ASCII)
# Our name, and those under which Slurm and its scripts know the same.
OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "job_id": ("SLURM_JOB_ID", "SLURM_JOBID", "slurm_job_id"),
    "cluster": ("SLURM_CLUSTER_NAME",),
    "attempt": ("SLURM_RESTART_COUNT", "SLURM_JOB_RESTART_COUNT"),
    "name": ("SLURM_JOB_NAME", "job_name"),
    "nodelist": ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "node_list"),
    "exit_code": ("SLURM_JOB_EXIT_CODE", "SLURM_JOB_EXIT_CODE2"),
    "started_at": ("SLURM_JOB_START_TIME",),
}
# Slurm gives an exit code as "status:signal".
_SLURM_EXIT: Final = compile_re(r"([0-9]{1,5})(?::([0-9]{1,3}))?", re.ASCII)
_CONTROL: Final = compile_re("[\x00-\x1f\x7f-\x9f]")


class Reader:
    """One body that is read field by field; what is wrong is gathered, then told at once."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.places: list[Place] = []

    def read(self, key: str, convert: Callable[[Any], Any], *, needed: bool = False) -> Any:  # noqa: ANN401
        """The value under a key as ``convert`` makes it; None where there is none."""
        value = self.body.get(key)
        if value is None:
            if needed:
                self.places.append(Place(f"body/{key}", "is missing"))
            return None
        try:
            return convert(value)
        except ValueError as error:
            self.places.append(Place(f"body/{key}", str(error)))
            return None

    def finish(self) -> None:
        """Raise :class:`Unprocessable` with every place at fault, if there is one."""
        if self.places:
            first = self.places[0]
            raise Unprocessable(
                f"{first.where.removeprefix('body/')}: {first.message}",
                hint="the body is a job.json object; job_id alone is needed",
                places=tuple(self.places),
            )


def parse_failure(raw: Mapping[str, Any]) -> Failure:
    """The failure that a body reports; a field that cannot be read is left out and named.

    Keys that are not known are kept among the facts.
    Raises :class:`Unprocessable` without a job's id that can be read.
    """
    body = apply_other_names(raw, OTHER_NAMES)
    reader = Reader(body)
    job_id = reader.read("job_id", parse_name, needed=True)
    reader.finish()
    fields = {key: reader.read(key, convert) for key, convert in _FIELDS.items()}
    ignored = {place.where.removeprefix("body/"): place.message for place in reader.places}
    ignored |= list_unreadable(body)
    body, odd_names = _with_plain_names(body)
    facts = {key: value for key, value in body.items() if key not in {*_SETTINGS, *ignored}}
    ignored |= odd_names
    facts["job_id"] = job_id
    facts |= {
        key: at.isoformat().replace("+00:00", "Z")
        for key in ("failed_at", "started_at")
        if (at := fields[key]) is not None
    }
    if (nodes := fields["nodelist"]) and not facts.get("nodes"):
        facts["nodes"] = nodes
    if fields["exit_code"] is not None:
        facts["exit_code"] = fields["exit_code"]
    return Failure(
        job_id=job_id,
        cluster=fields["cluster"],
        failed_at=fields["failed_at"],
        facts=facts,
        expected_artifacts=fields["expected_artifacts"],
        collect_within_s=fields["collect_within_s"],
        callback_url=fields["callback_url"],
        attempt=fields["attempt"] or "",
        ignored=tuple(IgnoredField(key, why) for key, why in ignored.items()),
    )


def apply_other_names(
    raw: Mapping[str, Any], other_names: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The body, with our name beside each other one that is there."""
    body = dict(raw)
    for name, others in other_names.items():
        for other in others:
            value = body.get(other)
            # Of a job that never started Slurm prints 0: no reason to refuse its failure.
            no_time = name.endswith("_at") and parse_moment(value) is None
            if body.get(name) is None and value not in (None, "") and not no_time:
                body[name] = value
    return body


def _with_plain_names(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The body without names of nodes that cannot be names, and what is said of those."""
    nodes = body.get("nodes")
    if not isinstance(nodes, list):
        return dict(body), {}
    plain = [one for one in nodes if not isinstance(one, str) or name_in(one) is not None]
    if len(plain) == len(nodes):
        return dict(body), {}
    bad = [one for one in nodes if isinstance(one, str) and name_in(one) is None]
    shown = ", ".join(repr(one[:40]) for one in bad[:3])
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    why = f"holds names that no node has ({shown}{more}), which are left out"
    return {**body, "nodes": plain}, {"nodes": why}


_SETTINGS: Final = frozenset({"expected_artifacts", "collect_within_s", "callback_url", IGNORED})


def name_in(value: object) -> str | None:
    """A name of a job or node as it can be kept; None for what is none."""
    try:
        return parse_name(value)
    except ValueError:
        return None


def parse_name(value: object) -> str:
    """A name out of a JSON value. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be a text or a whole number")
    name = str(value)
    if not 1 <= len(name) <= MAX_NAME:
        raise ValueError(f"must have 1 to {MAX_NAME} characters")
    if _CONTROL.search(name):
        raise ValueError("holds a control character")
    return name


def _parse_text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def parse_time(value: object) -> datetime:
    """A time with its zone out of a JSON value. Raises ValueError."""
    at = parse_moment(value)
    if at is None:
        raise ValueError("must be an RFC 3339 time with its zone, such as 2026-11-21T03:14:15Z")
    return at


def parse_nodes(value: object) -> list[str]:
    """Names of nodes out of a JSON list or a host list. Raises ValueError."""
    if isinstance(value, list):
        return [parse_name(one) for one in value]
    if not isinstance(value, str):
        raise ValueError("must be a host list, such as gpu[001-128,130]")
    return [parse_name(one) for one in expand(value)]


def _parse_expected(value: object) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_EXPECTED:
        raise ValueError(f"must be a whole number from 0 to {MAX_EXPECTED:,}")
    return value


def _parse_collect_window(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number of seconds")
    if not 0 < value <= _MAX_COLLECT_S:
        raise ValueError(f"must be more than 0 and at most {_MAX_COLLECT_S:,.0f} seconds")
    return float(value)


def parse_exit_code(value: object) -> int | None:
    """A number as it is; Slurm's ``status:signal`` as the shell would tell it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SLURM_EXIT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    signal = int(match[2] or 0)
    return 128 + signal if signal else int(match[1])


def _convert_exit_code(value: object) -> int:
    code = parse_exit_code(value)
    if code is None:
        raise ValueError("must be a number, or Slurm's status:signal")
    return code


_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "cluster": parse_name,
    "attempt": parse_name,
    "failed_at": parse_time,
    "started_at": parse_time,
    "nodelist": parse_nodes,
    "exit_code": _convert_exit_code,
    "expected_artifacts": _parse_expected,
    "collect_within_s": _parse_collect_window,
    "callback_url": _parse_text,
}
