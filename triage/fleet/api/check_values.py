"""The values that questions about checks of nodes hold."""

from typing import Annotated

from fastapi import Query

from triage.api.requests.values import Name, listed, one_of
from triage.fleet.api.values import real
from triage.fleet.services.health.due_list import STATES

NodeName = Annotated[Name | None, Query(description="Whose they are, where they name none.")]
OfCluster = Annotated[Name | None, Query(description="The cluster that the nodes belong to.")]
CheckState = Annotated[
    str | None, one_of(*STATES), listed(*STATES), Query(description="Only those that stand so.")
]
BusBandwidth = Annotated[
    float | None,
    *real(
        0.001,
        1_000_000,
        "GB/s that NCCL tests have to reach; by default they are held against the other runs in"
        " the file.",
    ),
]
