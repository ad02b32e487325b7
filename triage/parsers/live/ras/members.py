"""A communicator while what a report says of its members is put together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence
from triage.domain.live.process import UNKNOWN_PROCESS, Process

# The largest communicator that is believed, and the most members that are kept of a report.
MAX_RANKS: Final = 1 << 20
_REMOTE: Final = "remote process error"
_MAX_DIGITS: Final = 18


# All ranks have launched the same: a hang on the device, or in what is not counted, looks alike.
NO_PROOF: Final = (
    "NCCL RAS shows nobody behind; it counts what hosts launched, never what completed, and neither"
    " sends nor captured graphs: that is no proof of health"
)


def number(text: str) -> int | None:
    """The number that a word is; None for anything else, and for more digits than a counter has."""
    word = text.strip()
    if not word.isascii() or not word.isdecimal() or len(word) > _MAX_DIGITS:
        return None
    return int(word)


def normalize_error(text: str) -> str | None:
    """The words of an error; None for those of none."""
    words = " ".join(text.split())[:80]
    return None if words.lower() in ("", "ok", "no error") else words


@dataclass(slots=True)
class Member:
    """One member, with all that lines said of it."""

    process: Process
    presence: Presence
    line: int | None
    launched: dict[str, int] = field(default_factory=dict)
    status: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Group:
    """Members of which a line says how many they are and what they have in common."""

    topic: str
    num_ranks: int
    count: int | None = None
    status: str | None = None
    error: str | None = None
    listed: int = 0


@dataclass(slots=True)
class CommunicatorParts:
    """``groups`` are those that the report counts, with or without a list of their ranks."""

    hash: int
    size: int
    line: int
    members: dict[int, Member] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    group: Group | None = None
    contradictions: int = 0

    def begin_group(
        self, topic: str, num_ranks: int, count: int | None, status: str | None, error: str | None
    ) -> None:
        """A line that speaks of several ranks; those listed below it are its members."""
        self.group = Group(topic, num_ranks, count, status, error and normalize_error(error))
        self.groups.append(self.group)

    def end_group(self) -> None:
        """No rank below belongs to the last group."""
        self.group = None

    def add_to_group(self, rank: int, process: Process, line: int) -> None:
        """A rank listed below a line that says what its group has in common."""
        group = self.group
        if group is None:
            return
        group.listed += 1
        counts = None if group.count is None else {group.topic: group.count}
        self.add(rank, process, counts=counts, status=group.status, error=group.error, line=line)

    def add(
        self,
        rank: int,
        process: Process,
        presence: Presence = Presence.ANSWERED,
        *,
        counts: Mapping[str, int] | None = None,
        status: str | None = None,
        error: str | None = None,
        line: int | None = None,
    ) -> None:
        """What a line says of a rank. A rank that the communicator cannot have is left out."""
        if rank >= (self.size or MAX_RANKS) or len(self.members) >= MAX_RANKS:
            self.contradictions += 1
            return
        known = self.members.get(rank)
        if known is None:
            known = self.members[rank] = Member(process, presence, line)
        elif UNKNOWN_PROCESS not in (known.process, process) and known.process != process:
            self.contradictions += 1
            return
        if known.process == UNKNOWN_PROCESS:
            known.process = process
        if presence is not Presence.ANSWERED:
            known.presence = presence
        known.launched.update(counts or {})
        known.status = status or known.status
        known.error = error or known.error

    def settle(
        self, silent: Mapping[tuple[str | None, int | None], Presence], all_of: Process | None
    ) -> None:
        """Say of missing members whose process is dead or silent that they are. ``all_of`` is the
        process that does not answer where it is one: old releases print a missing rank alone.
        """
        missing = [one for one in self.members.values() if one.presence is Presence.MISSING]
        if len(missing) == 1 and missing[0].process == UNKNOWN_PROCESS and all_of is not None:
            missing[0].process = all_of
        for one in missing:
            one.presence = silent.get((one.process.host, one.process.pid), Presence.MISSING)

    def communicator(self) -> Communicator:
        """What is known of it."""
        members = tuple(
            CommunicatorRank(
                rank,
                one.process,
                one.presence,
                one.launched or None,
                None,
                one.status,
                one.error,
                (one.error or "").lower() == _REMOTE,
                one.line,
            )
            for rank, one in sorted(self.members.items())
        )
        size = max(self.size, members[-1].rank + 1 if members else 0)
        return Communicator(
            self.hash, size, members, self.rest(), line=self.line, unlisted=self.unlisted()
        )

    def unlisted(self) -> dict[str, dict[int, int]]:
        """Operation -> how many were launched -> by how many ranks that are not listed."""
        found: dict[str, dict[int, int]] = {}
        for one in self.groups:
            if one.count is not None and one.topic and not one.listed:
                levels = found.setdefault(one.topic, {})
                levels[one.count] = levels.get(one.count, 0) + one.num_ranks
        return found

    def rest(self) -> CommunicatorRank | None:
        """The members that are not listed, by the least that is said of any of them."""
        unlisted = [one for one in self.groups if not one.listed]
        if not unlisted and len(self.members) >= self.size:
            return None
        counts: dict[str, int] = {}
        for one in unlisted:
            if one.count is not None and one.topic:
                counts[one.topic] = min(one.count, counts.get(one.topic, one.count))
        statuses = {one.status for one in unlisted} - {None}
        status = "init" if "init" in statuses else next(iter(sorted(filter(None, statuses))), None)
        errors = [one.error for one in unlisted if one.error is not None]
        error = next((one for one in errors if one.lower() != _REMOTE), next(iter(errors), None))
        return CommunicatorRank(
            -1,
            UNKNOWN_PROCESS,
            launched=counts or None,
            status=status,
            error=error,
            remote_error=(error or "").lower() == _REMOTE,
            line=self.line,
        )

    def notes(self) -> list[str]:
        """What the reader should know of it."""
        found = []
        for topic in sorted({one.topic for one in self.groups if one.count is not None}):
            least = min(one.count or 0 for one in self.groups if one.topic == topic)
            counts = [one.launched[topic] for one in self.members.values() if topic in one.launched]
            unlisted = [
                one
                for one in self.groups
                if one.topic == topic and not one.listed and one.count == least
            ]
            if unlisted and min(counts, default=least + 1) > least:
                found.append(
                    f"communicator {self.hash:016x}: {unlisted[0].num_ranks} ranks are behind and"
                    " RAS does not list them (what it lists is ahead): ask for JSON, or verbosely"
                )
        if self.contradictions:
            found.append(
                f"communicator {self.hash:016x}: {self.contradictions} lines contradict its size or"
                " other lines and were left out"
            )
        return found
