"""The names of 0.1 go on for one release, with a warning."""

import importlib
import sys

import pytest

import triage.reliability as package


@pytest.mark.parametrize(
    ("module", "name"), [("standing", "fleet_standings"), ("what_if", "spares_for")]
)
def test_a_name_of_the_release_before_is_the_present_one(module: str, name: str) -> None:
    sys.modules.pop(f"triage.reliability.{module}", None)
    with pytest.warns(DeprecationWarning, match="import this from triage.reliability"):
        old = importlib.import_module(f"triage.reliability.{module}")
    assert getattr(old, name) is getattr(package, name)
