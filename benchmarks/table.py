"""Rows of text as an aligned table, and the machine they were measured on."""

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up: the first column left, the others right."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    rule = ["-" * width if k == 0 else "-" * (width - 1) + ":" for k, width in enumerate(widths)]
    return "\n".join([line(table[0]), f"| {' | '.join(rule)} |", *map(line, table[1:])])


def machine() -> str:
    """Date, cores and Python, one line."""
    today = datetime.now(UTC).date().isoformat()
    return (
        f"{today}, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    )


def write_json(path: Path | None, kind: str, rows: Sequence[dict[str, Any]], **facts: Any) -> None:  # noqa: ANN401
    """The numbers for scripts, where a path was given."""
    if path is not None:
        value = {"benchmark": kind, "machine": machine(), **facts, "rows": list(rows)}
        path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
