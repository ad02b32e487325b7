"""When a test of groups is offered: where a node is in question, and none is convicted."""

import pytest

from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.report import Answer, JobFacts, Suspect, Verdict
from triage.render.words.answer import explain_test_groups


def answer(kind: VerdictKind, category: Category, *roles: Role) -> Answer:
    suspects = [
        Suspect(place + 1, f"n{place}", (), (), category, 0.4, role, Action.INVESTIGATE, ())
        for place, role in enumerate(roles)
    ]
    verdict = Verdict(kind, category, 0.5, "", Action.INVESTIGATE)
    return Answer(JobFacts(), verdict, tuple(suspects))


@pytest.mark.parametrize(
    ("kind", "category", "roles", "why"),
    [
        (VerdictKind.HANG, Category.NIC, (Role.POSSIBLE, Role.POSSIBLE), "2 nodes may be"),
        (VerdictKind.CRASH, Category.SDC, (Role.CULPRIT,), "corruption"),
        (VerdictKind.STRAGGLER, Category.STRAGGLER, (), "the job is slow"),
        (VerdictKind.HANG, Category.NETWORK, (), "the fabric stalls"),
        (VerdictKind.HANG, Category.NCCL_TIMEOUT, (), "collectives time out"),
        (VerdictKind.INCONCLUSIVE, Category.NONE, (), "names no node"),
    ],
)
def test_it_is_offered_where_the_node_is_open(
    kind: VerdictKind, category: Category, roles: tuple[Role, ...], why: str
) -> None:
    assert why in (explain_test_groups(answer(kind, category, *roles)) or "")


@pytest.mark.parametrize(
    ("kind", "category", "roles"),
    [
        (VerdictKind.HEALTHY, Category.NONE, ()),
        (VerdictKind.CRASH, Category.GPU, (Role.CULPRIT, Role.AFFECTED)),
        (VerdictKind.CRASH, Category.SOFTWARE_USER, (Role.POSSIBLE, Role.POSSIBLE)),
        (VerdictKind.STRAGGLER, Category.STRAGGLER, (Role.CULPRIT,)),
        (VerdictKind.CRASH, Category.GPU_OOM, ()),
    ],
)
def test_it_is_not_offered_where_it_would_tell_nothing(
    kind: VerdictKind, category: Category, roles: tuple[Role, ...]
) -> None:
    assert explain_test_groups(answer(kind, category, *roles)) is None
