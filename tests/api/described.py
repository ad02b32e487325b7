"""Holds each answer that a test gets to what the OpenAPI description says of it.

``docs/openapi.json`` is read: every service has that description (`test_operations.py` compares
them), and to make it anew takes a service longer than most tests do.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"
JSON = {"application/json", "application/problem+json"}


def check(method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Fails where the description knows the route and not this answer, or says it otherwise.

    What no route answers, and what is no JSON, is passed over.
    """
    media_type = headers.get("content-type", "").partition(";")[0]
    operation = find_operation(method, path.partition("?")[0])
    if operation is None or status == 405 or media_type not in JSON:
        return
    content = operation["responses"][str(status)]["content"]
    validator = make_validator(json.dumps(content[media_type]["schema"]))
    errors = [
        f"{error.json_path}: {error.message[:200]}"
        for error in validator.iter_errors(json.loads(body))
    ]
    assert not errors, (method, path, status, errors[:5])


@cache
def load_description() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8"))


@cache
def list_paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """A pattern and the operations of each path; one without parameters comes before others."""
    paths = load_description()["paths"]
    return [
        (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))), paths[template])
        for template in sorted(paths, key=lambda one: one.count("{"))
    ]


def find_operation(method: str, path: str) -> dict[str, Any] | None:
    """The described operation behind a path; None where there is none."""
    for pattern, operations in list_paths():
        if pattern.fullmatch(path):
            return operations.get(method.lower())
    return None


@cache
def make_validator(schema: str) -> Draft202012Validator:
    """What checks a value against a schema of the description."""
    components = {"components": load_description()["components"]}
    return Draft202012Validator({**json.loads(schema), **components})
