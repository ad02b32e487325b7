"""What came out of the dumps of one incident, and which files only look like one."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from triage.domain.rank_digest import OpDescription, RankDigest
from triage.domain.report import Refused
from triage.parsers.files.job_file import JobFile
from triage.parsers.flight_recorder.naming import mask_name_numbers

# Dumps of one name but for its numbers, from which on another file of it should be one.
_ALIKE: Final = 2
DumpOutcome = RankDigest | Refused | JobFile | str
HOLDS_NONE: Final = "holds none: what text it has is read as a log"


@dataclass(slots=True)
class DumpSet:
    """What came out of the files: one digest a dump, in the order of their names."""

    digests: list[RankDigest] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Files that are no dumps."""
    operations: dict[int, OpDescription] = field(default_factory=dict)
    job_files: list[JobFile] = field(default_factory=list)
    """The ``job.json`` of each archive."""

    def add(self, outcome: DumpOutcome) -> None:
        """What one file came down to: a text is the name of a file that is no dump."""
        if isinstance(outcome, RankDigest):
            self.digests.append(outcome)
        elif isinstance(outcome, Refused):
            self.refused.append(outcome)
        elif isinstance(outcome, JobFile):
            self.job_files.append(outcome)
        else:
            self.foreign.append(outcome)


def list_alike(dumps: DumpSet) -> None:
    """Refuse what is no dump and is called as the dumps beside it are, but for its number."""
    alike = Counter(mask_name_numbers(digest.artifact) for digest in dumps.digests)
    listed = {refused.artifact for refused in dumps.refused}
    dumps.refused += [
        Refused(artifact, f"named like the dumps beside it, and {HOLDS_NONE}")
        for artifact in dumps.foreign
        if artifact not in listed and alike[mask_name_numbers(artifact)] >= _ALIKE
    ]
