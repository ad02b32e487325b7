"""Holds each answer that a test gets to what the OpenAPI description says of it."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

JSON = {"application/json", "application/problem+json"}


def check(
    app: Any, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """Fails where the description knows the route and not this answer, or says it otherwise.

    What no route answers, and what is no JSON, is passed over.
    """
    media_type = headers.get("content-type", "").partition(";")[0]
    operation = operation_of(app, method, path.partition("?")[0])
    if operation is None or status == 405 or media_type not in JSON:
        return
    content = operation["responses"][str(status)]["content"]
    validator = validator_of(app, json.dumps(content[media_type]["schema"]))
    errors = [
        f"{error.json_path}: {error.message[:200]}"
        for error in validator.iter_errors(json.loads(body))
    ]
    assert not errors, (method, path, status, errors[:5])


def operation_of(app: Any, method: str, path: str) -> dict[str, Any] | None:
    """The described operation behind a path; None where there is none."""
    paths = app.openapi()["paths"]
    # A path without parameters comes before one that has them.
    for template in sorted(paths, key=lambda one: one.count("{")):
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            return paths[template].get(method.lower())
    return None


@cache
def validator_of(app: Any, schema: str) -> Draft202012Validator:
    """What checks a value against a schema of the description."""
    components = {"components": app.openapi()["components"]}
    return Draft202012Validator({**json.loads(schema), **components})
