"""Tables of a package that are data: TOML beside the code."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_toml(package: str, name: str) -> dict[str, Any]:
    """What the file ``NAME.toml`` of ``package`` holds."""
    return tomllib.loads(resources.files(package).joinpath(f"{name}.toml").read_text("utf-8"))
