"""Each cause has a policy, and each exception is of a line that is known."""

import pytest

from triage.analysis.restart.policy import EXCEPTIONS, POLICIES, choose_policy
from triage.domain.category import GPU_CHIP, HARDWARE, Category
from triage.domain.restart import RestartDecision
from triage.signatures.registry import load_all_signatures

RESTART, WITHOUT = RestartDecision.RESTART, RestartDecision.RESTART_WITHOUT
STOP, WAIT = RestartDecision.STOP, RestartDecision.WAIT


@pytest.mark.parametrize("category", list(Category))
def test_every_category_has_a_policy(category: Category) -> None:
    policy = POLICIES[category]

    assert (policy.retries == 0) is (policy.decision is STOP)
    assert policy.why[0].isupper()
    assert not policy.why.endswith(".")


@pytest.mark.parametrize("signature", sorted(EXCEPTIONS))
def test_every_exception_is_of_a_signature(signature: str) -> None:
    assert signature in {one.id for one in load_all_signatures()} | {"python.fatal"}


@pytest.mark.parametrize(
    ("category", "signatures", "outside", "wanted"),
    [
        (Category.GPU_HBM, (), False, WITHOUT),
        (Category.NETWORK, ("nic.link",), False, WITHOUT),
        (Category.NETWORK, ("switch.fault",), True, WAIT),
        (Category.STORAGE, ("network_storage.lustre_lost",), True, WAIT),
        (Category.STORAGE, ("storage.checkpoint", "storage.full"), True, STOP),
        (Category.STORAGE, ("storage.damaged_file",), True, STOP),
        (Category.DEPENDENCY, ("python.missing_library",), False, STOP),
        (Category.DEPENDENCY, ("environment.licence",), True, WAIT),
        (Category.DEPENDENCY, ("c10d.store_address_in_use",), False, RESTART),
        (Category.DEPENDENCY, ("nvidia.version_mismatch",), False, WITHOUT),
        (Category.SOFTWARE_USER, (), True, STOP),
        (Category.NUMERICAL, (), False, STOP),
        (Category.GPU_OOM, ("cuda.out_of_memory",), False, STOP),
        (Category.NCCL_TIMEOUT, (), False, RESTART),
        (Category.HOST_MAINTENANCE, ("slurm.preempted",), True, RESTART),
        (Category.HOST_MAINTENANCE, ("scheduler.operator",), True, STOP),
    ],
)
def test_the_line_says_more_than_its_category(category, signatures, outside, wanted) -> None:
    assert choose_policy(category, signatures, outside=outside).decision is wanted


def test_hardware_is_left_out_and_software_never() -> None:
    left_out = {one for one in Category if POLICIES[one].decision is WITHOUT}

    assert left_out == HARDWARE | {Category.STRAGGLER}
    assert left_out >= GPU_CHIP
