"""What PyTorch's analyzer of the flight recorder prints, which the debug server runs in rank 0.

It compares the ranks' records one operation at a time and does not follow who waits for whom:
of a rank that stands still it lists those that wait for it as culprits, in each round anew. None
of it is an event of the job.
"""

from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family

__all__ = ["SIGNATURES"]

ANALYZER = Family(
    "fr_analyzer",
    Kind.NCCL,
    blame=Blame.NOBODY,
    source="PyTorch: torch/distributed/flight_recorder/components/builder.py, types.py",
)
ANALYZER.noise(
    "culprit",
    r"Culprit rank \d{1,7}; ?Error type: ",
    literals=("culprit rank ",),
    matches=(
        "error msg: Culprit rank 3; Error type: COLLECTIVE_STATE_MISMATCH, Expected state:"
        " 'started' does not match found state: 'scheduled'",
        "[rank0]: Culprit rank 12; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes:",
    ),
    near_misses=("culprit rank is unknown, Error type: timeout",),
)
ANALYZER.noise(
    "not_joined",
    r"Not all ranks joining collective\b|\bmissing ranks: \{[\d, ]{1,4000}\}"
    r"|Collective sequence number: \d{1,10} has errors"
    r"|No errors found for this collective entry, There could be some other reasons",
    literals=(
        "not all ranks joining collective",
        "missing ranks: {",
        "collective sequence number: ",
        "no errors found for this collective entry",
    ),
    matches=(
        "Not all ranks joining collective, sequence number: 812",
        "missing ranks: {2, 3}",
        "Collective sequence number: 43 has errors",
        "No errors found for this collective entry, There could be some other reasons why we see"
        " collective timeout.",
    ),
    near_misses=(
        "Collective sequence number: 43 was issued",
        "missing ranks: none",
    ),
)

SIGNATURES = ANALYZER.signatures()
