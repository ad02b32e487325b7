"""All transformations: by name, the same for the same seed, and none changes its input."""

import random
from dataclasses import replace

import pytest

from simulator.perturb.incident import Incident
from simulator.perturb.registry import ALL, named
from tests.laws.drills import drill

OF_LOOKS = ("stray-stacks", "cut-looks", "earlier-look")


def once(name: str, incident: Incident) -> Incident | None:
    return named(name).apply(incident, random.Random(3))


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_the_same_seed_gives_the_same_bytes_and_the_input_stays(name: str) -> None:
    incident = drill("looks-tokenizer" if name in OF_LOOKS else "logs-nic-w16").incident
    before = dict(incident.files)
    first, again = once(name, incident), once(name, incident)
    assert first is not None
    assert again is not None
    assert list(first.files.items()) == list(again.files.items())
    assert dict(incident.files) == before
    if name != "shuffled":
        assert first.files != before


@pytest.mark.parametrize(
    "name", ["foreign-lines", "alarming-lines", "alarming-alone", "old-faults", "old-links",
             "boot-lines"],
)  # fmt: skip
def test_noise_goes_to_innocent_nodes_alone(name: str) -> None:
    incident = drill("logs-nic-w16").incident
    made = once(name, incident)
    assert made is not None
    changed = {one for one in made.files if made.files[one] != incident.files.get(one)}
    assert {incident.node_of[one] for one in changed} <= incident.innocent
    assert once(name, replace(incident, innocent=frozenset())) is None


def test_names_are_of_one_transformation_each() -> None:
    assert len({one.name for one in ALL}) == len(ALL)
    with pytest.raises(KeyError):
        named("nothing")
