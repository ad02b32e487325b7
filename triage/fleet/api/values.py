"""The numbers that questions about a fleet hold: each with its bounds, refused beyond them."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from triage.api.access import get_caller
from triage.api.requests.values import Name, Since, check_choice, make_choice_schema
from triage.domain.standing import Grade
from triage.fleet.domain.exposure import Ending
from triage.fleet.services.health.due_list import STATES

MAX_TOP: Final = 2_000


def _bound(
    least: float, most: float, description: str, example: float | None = None
) -> tuple[Any, ...]:
    """A number from ``least`` to ``most``; not ``1_000``, which Python alone takes for one."""

    def check(text: Any, parse: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - a default is a number
        try:
            return parse(str(text).replace("_", "?"))
        except ValueError as error:
            raise ValueError(f"give a number from {least:,} to {most:,}") from error

    shown: Any = {} if example is None else {"usual": {"value": example}}
    query = Query(ge=least, le=most, description=description, openapi_examples=shown)
    return query, WrapValidator(check)


def _choose_among(known: Iterable[str], description: str) -> tuple[Any, ...]:
    """One of the ``known`` words."""
    names = [*known]
    return check_choice(*names), make_choice_schema(*names), Query(description=description)


From = Annotated[Since | None, Query(description="Begin; 30 days before the end by default.")]
Until = Annotated[Since | None, Query(description="End, not itself in it; now by default.")]


async def _check_cluster(
    request: Request,
    cluster: Annotated[Name | None, Query(description="This cluster alone.")] = None,
) -> str | None:
    """The cluster of a question. Raises :class:`NotFound` for one that the token does not reach."""
    return get_caller(request).asks(cluster)


ClusterName = Annotated[str | None, Depends(_check_cluster)]
_GPUS: Final = _bound(1, 10_000_000, "GPUs of the job.", 16384)
Gpus = Annotated[int | None, *_GPUS]
NeededGpus = Annotated[int, *_GPUS]
Nodes = Annotated[
    int | None,
    *_bound(1, 1_000_000, "Nodes to keep spares for; by default those of the record.", 2048),
]
Hours = Annotated[
    float | None,
    *_bound(0.001, 87_600, "How likely it runs for so long; 1 h to a week by default.", 24),
]
Cost = Annotated[
    float | None,
    *_bound(0.001, 86_400, "Seconds for which a checkpoint stops the job; 10 by default.", 20),
]
Restart = Annotated[
    float | None,
    *_bound(0.001, 604_800, "Seconds from a stop to the next new step; 300 by default.", 480),
]
RepairDays = Annotated[
    float | None,
    *_bound(0.001, 3_650, "Days for which a node is away; by default as measured, else 7.", 7),
]
Confidence = Annotated[
    float | None, *_bound(0.5, 0.999999, "How surely the spares suffice; 0.99 by default.", 0.999)
]
CompareDays = Annotated[
    float | None,
    *_bound(0.01, 3_660, "Compare the last days with all before; by default the later half.", 7),
]
Top = Annotated[int, *_bound(1, MAX_TOP, "Name at most so many nodes and checks.")]
EndingName = Annotated[str | None, *_choose_among(Ending, "How it ended.")]
StandingName = Annotated[str | None, *_choose_among(Grade, "Only nodes that stand so.")]
NodeName = Annotated[Name | None, Query(description="Whose they are, where they name none.")]
OfCluster = Annotated[Name | None, Query(description="The cluster that the nodes belong to.")]
CheckState = Annotated[str | None, *_choose_among(STATES, "Only those that stand so.")]
BusBandwidth = Annotated[
    float | None,
    *_bound(
        0.001,
        1_000_000,
        "GB/s that NCCL tests have to reach; by default they are held against the other runs in"
        " the file.",
    ),
]
