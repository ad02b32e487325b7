"""Evidence that is lost or said in other words, and evidence that is said too often."""

import random
import re
from dataclasses import dataclass, replace
from typing import Final

from simulator.perturb.incident import Incident
from simulator.perturb.invented import reworded
from simulator.perturb.placing import encoded, placed
from simulator.perturb.transformation import EVERYTHING, Keep

_NUMBERS: Final = re.compile(r"(?:0x)?[0-9a-f]*[0-9][0-9a-f]*")


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """A part of the files is not there."""

    name: str = "dropped-files"
    law: int = 6
    keeps: frozenset[Keep] = frozenset({Keep.NO_INNOCENT})
    share: float = 0.2

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """Without ``share`` of the dumps and logs; ``job.json`` stays."""
        names = [name for name in sorted(incident.files) if not name.endswith("job.json")]
        gone = set(rng.sample(names, round(self.share * len(names))))
        if not gone or len(gone) == len(names):
            return None
        kept = {name: data for name, data in incident.files.items() if name not in gone}
        return replace(incident, files=kept)


@dataclass(frozen=True, slots=True)
class RewordedRoots:
    """The lines that tell the cause in words never seen; drivers' names and numbers stay."""

    name: str = "reworded-roots"
    law: int = 7
    keeps: frozenset[Keep] = frozenset({Keep.NO_INNOCENT, Keep.PROVED_NODE})

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """None where no line tells the cause, or its envelope is not understood."""
        changed: dict[str, bytes] = {}
        for name in sorted({name for name, _ in incident.roots}):
            if name not in incident.files:
                continue
            log = placed(incident.files[name], incident.end_ns)
            lines = [one.before + one.text + one.behind for one in log.lines]
            told = {line - 1 for file, line in incident.roots if file == name}
            wanted = {_mask(log.lines[place].text) for place in told if place < len(lines)}
            for place, one in enumerate(log.lines):
                if one.text and _mask(one.text) in wanted:
                    lines[place] = one.before + reworded(one.text, rng) + one.behind
            changed[name] = encoded(lines)
        return incident.with_files(changed) if changed else None


def _mask(text: str) -> str:
    """A sentence without its numbers: all that repeat it are reworded as well."""
    return _NUMBERS.sub("0", text)


@dataclass(frozen=True, slots=True)
class Flood:
    """One line a thousand times."""

    name: str = "flood"
    law: int = 8
    keeps: frozenset[Keep] = EVERYTHING
    copies: int = 1000

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """A line that was evidence, where there is one, else any line of a log."""
        told = sorted(one for one in incident.told if one[0] in incident.files)
        if told:
            name, line = rng.choice(told)
        else:
            names = incident.texts()
            if not names:
                return None
            name = rng.choice(sorted(names))
            line = rng.randrange(1, incident.files[name].count(b"\n") + 2)
        lines = incident.files[name].splitlines(keepends=True)
        if line > len(lines):
            return None
        one = lines[line - 1].rstrip(b"\r\n") + b"\n"
        lines[line - 1] = one * self.copies
        return incident.with_files({name: b"".join(lines)})
