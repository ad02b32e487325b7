"""What the joining of evidence asks of lines that a job prints, beside their category."""

import pytest

from triage.domain.evidence import Trait
from triage.signatures import registry
from triage.signatures.signature import Signature

ALL = registry.load_all_signatures()


@pytest.mark.parametrize(
    ("prefixes", "trait"),
    [
        (("c10d.watchdog_timeout",), Trait.TIMEOUT),
        (("c10d.rendezvous", "c10d.store_connect", "c10d.store_timeout"), Trait.RENDEZVOUS),
        (("c10d.store_barrier",), Trait.RENDEZVOUS),
        (("elastic.", "scheduler.", "node."), Trait.ENDS_JOB),
        (("cuda.no_device", "cuda.init_error"), Trait.GPU_NOT_STARTED),
    ],
)
def test_every_entry_of_a_group_has_its_trait(prefixes: tuple[str, ...], trait: Trait) -> None:
    group = [one for one in ALL if one.id.startswith(prefixes)]

    assert group
    assert [one.id for one in group if trait not in one.traits] == []


def test_a_generic_line_is_weak() -> None:
    def convicts(one: Signature) -> bool:
        return Trait.GENERIC in one.traits and not one.weak and str(one.role) == "root"

    assert [one.id for one in ALL if convicts(one)] == []
