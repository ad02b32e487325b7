"""Options that several commands take; a value that cannot be used raises UsageError."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from triage.domain.patterns import compile_re
from triage.errors import UsageError

# 2026-11-21T03:14:15Z, with an offset or none at all (UTC), seconds and fraction optional.
_RFC_3339 = compile_re(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)


def make_group(help_text: str) -> typer.Typer:
    """A command that has commands of its own."""
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class TextOrJson(StrEnum):
    """How one object is printed."""

    TEXT = "text"
    JSON = "json"


class Rows(StrEnum):
    """How rows are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def require_existing(paths: Sequence[Path], job: Path | None = None) -> list[Path]:
    """``paths`` as they are. Raises UsageError where one of them, or ``job``, is not there."""
    for path in [*paths, job] if job is not None else paths:
        try:
            is_there = path.exists()
        except OSError as error:
            raise UsageError(f"cannot look at {path}: {error.strerror}") from error
        if not is_there:
            raise UsageError(f"cannot find {path}; give a folder, a file or a tar archive")
    return list(paths)


def check_top(top: int | None) -> int | None:
    """``top``. Raises UsageError for a number that shows nothing."""
    if top is not None and top < 1:
        raise UsageError(f"--top {top} shows nothing; give 1 or more")
    return top


def parse_at(text: str) -> datetime:
    """An RFC 3339 time; without an offset it is UTC. Raises UsageError."""
    try:
        if _RFC_3339.fullmatch(text) is None:
            raise ValueError
        at = datetime.fromisoformat(text.upper())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        example = "2026-11-21T03:14:15Z"
        raise UsageError(f"--at {text!r} is no RFC 3339 time; give one like {example}") from None


def parse_since_time(text: str, option: str = "--since") -> datetime:
    """``6h`` ago or an RFC 3339 time. Raises UsageError, which names ``option``."""
    from triage.collectors.options import Misuse, parse_seconds

    try:
        return datetime.fromtimestamp(parse_seconds(text), UTC)
    except Misuse as error:
        raise UsageError(f"{option}: {error}") from error
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {text!r} is too long ago") from error


ReportFormat = Annotated[
    Format, typer.Option("--format", "-f", help="text for people, json, or one html page.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Folders, files or tar archives of one incident.",
        show_default=False,
    ),
]
JobFile = Annotated[
    Path | None,
    typer.Option("--job", metavar="FILE", help="A job.json with facts of the job."),
]
StoppedAt = Annotated[
    datetime | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="When the job stopped, RFC 3339; UTC if it has no offset.",
        parser=parse_at,
    ),
]
Signatures = Annotated[
    Path | None,
    typer.Option(
        "--signatures",
        metavar="FILE",
        help="Signatures of your own: a TOML file, or a folder of them.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option("--top", metavar="N", help="Show the best N suspects.", callback=check_top),
]
