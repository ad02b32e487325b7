"""Wrong numbers of one GPU: replicas that differ, steps that do not repeat, checks that fail.

A line is about the GPU that computed, which is often not the one that prints:
"rank 5 reports that rank 17 ..." is about rank 17. The rank that the words name is
kept as ``of_rank``, and whoever prints is no place of the fault. A number behind
``dp rank`` or ``local rank`` counts within a group and names nobody. Of two ranks
that differ neither is known to be the wrong one; against a majority the odd one is.
A NaN counts here only where the line says that it was there before the reduction.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.signature import Reading

# rank 17, rank=17, global rank 17, Rank-17, [rank17]
RANK = compile_re(
    r"(?P<within>\b(?:local|group|dp|tp|pp|ep|cp|sp|data[ -]?parallel|tensor[ -]?parallel|"
    r"pipeline|expert|replica|shard)[ _-])?\b(?:global[ _-])?rank[ _#:=-]{0,2}"
    r"(?P<number>\d{1,7})\b",
    re.IGNORECASE,
)
_REPORTS = compile_re(
    r"\brank[ _#:=-]{0,2}\d{1,7}\]?:? {1,2}(?:reports?|reported|says|sees|saw|observed|observes|"
    r"detected|detects|found|finds|claims|noticed|received|recomputed|flags?|flagged|voted?|"
    r"votes)\b",
    re.IGNORECASE,
)
_MAJORITY = compile_re(
    r"majority|\bothers?\b|\ball (?:the )?other|\bpeers\b|quorum|consensus|\bgolden\b|\breference\b"
    r"|\bexpected\b|its replica group|the rest|outlier|\bodd one\b|\bonly on\b"
    r"|\b\d{1,7} ?(?:/|of|out of) ?\d{1,7}\b|\bminority\b",
    re.IGNORECASE,
)
# What belongs to a file or a message, and not to what a GPU computed.
_OF_A_FILE = compile_re(
    r"\b(?:archive|files?|image|download\w*|shard|tarball|package|wheel|checkpoint|ckpt|config\w*|"
    r"dataset|source|tokenizer|manifest|block|btrfs|ext4|xfs|header|firmware|superblock|inode|"
    r"disk|object|upload\w*)\b|/[\w.-]{1,64}/|s3://|gs://",
    re.IGNORECASE,
)
# Whose numbers: without any of these a checksum is that of a file or a message.
_SOMEBODY = compile_re(r"\branks?\b|\breplicas?\b|\bGPU[ _#:=-]{0,2}\d", re.IGNORECASE)
_AMONG_MANY = compile_re(
    r"\b(?:across|among|between) (?:the |all )?(?:\w{1,16}[- ]){0,2}(?:replicas|ranks|workers"
    r"|gpus)\b",
    re.IGNORECASE,
)
_ALL_WELL = compile_re(
    r"\b(?:no|zero|0|without|passed?|passes|ok|clean|disabled|enabled|starting|started|checking|"
    r"will|if|skipp\w+) (?:\w+ ){0,3}(?:mismatch\w*|differ\w*|sdc|silent|corrupt\w*|errors?|"
    r"checks?|violations?)\b|\b(?:check|checks|test|tests|validation)s? (?:has |have )?"
    r"(?:passed|ok|succeeded|is on|are on|enabled|disabled)\b",
    re.IGNORECASE,
)


# Whom a value is held against: "differs from rank 0", "0x1f != that of rank 3".
_HELD_AGAINST = compile_re(
    r"(?:(?:differ|deviat|disagree|diverg)\w{0,4}|match(?:es)?\b|equal\w{0,2}|!=|\bvs\.?|\bversus|"
    r"\bthan|\bunlike|\bagainst|\bcompared)"
    r"(?: {1,2}(?:from|with|to|that of|those of|the (?:one|ones|value|hash|checksum) (?:of|on"
    r"|at))){0,2}"
    r" {0,2}\[?(?=(?:global )?rank[ _#:=-]{0,2}\d)",
    re.IGNORECASE,
)
# "rank 0: ...", also behind a tag, before words about another rank: who prints.
_LABEL = compile_re(
    r"\s{0,8}(?:[A-Za-z][\w.-]{1,64}: {1,2}(?=\[))?(?:\[[a-z][\w .:/-]{0,40}\] {0,2}){0,2}"
    r"\[?(?:global )?rank[ _#:=-]{0,2}\d{1,7}\]?(?::| -) ",
    re.IGNORECASE,
)


# "odd one out: rank 16": who is meant, whatever other ranks are named.
_ODD_ONE = compile_re(
    r"(?:\bodd (?:one|rank|member) out|\boutlier|\bminority|\bculprit|\boffender)"
    r"(?:\s?(?:is|was|[:=-]|->)){0,2}\s{0,2}\[?(?=(?:global )?rank[ _#:=-]{0,2}\d)",
    re.IGNORECASE,
)


def _list_named_ranks(text: str) -> list[str]:
    """The global ranks that ``text`` names, in its order."""
    return [match["number"] for match in RANK.finditer(text) if not match["within"]]


def _list_wrong_ranks(text: str) -> list[str]:
    """The ranks that ``text`` is about: neither who prints nor whom they are held against."""
    odd = _ODD_ONE.search(text)
    if odd is not None:
        return _list_named_ranks(text[odd.end() :])[:1]
    reporter = _REPORTS.search(text) or _LABEL.match(text)
    for behind in (text if reporter is None else text[reporter.end() :], text):
        against = {found.end() for found in _HELD_AGAINST.finditer(behind)}
        found = [
            one["number"]
            for one in RANK.finditer(behind)
            if not one["within"] and one.start() not in against
        ]
        if found:
            return found
    return _list_named_ranks(text)


def _find_accused_rank(text: str) -> tuple[str | None, bool]:
    """The rank whose numbers are wrong, and whether anything but one other says so."""
    reporter = _REPORTS.search(text)
    behind = text if reporter is None else text[reporter.end() :]
    named = _list_wrong_ranks(text)
    if not named:
        return None, False
    different = list(dict.fromkeys(named))
    against = _MAJORITY.search(text) is not None
    paired = re.search(
        r"\bbetween rank|\branks? \d{1,7} (?:and|vs\.?|versus|&) (?:rank )?\d",
        behind,
        re.IGNORECASE,
    )
    if paired is not None and len(set(_list_named_ranks(behind))) > 1 and not against:
        return None, False
    return different[0], against or len(set(_list_named_ranks(behind))) == 1


def read_corruption(
    text: str, *, weak: bool | None = None, category: Category = Category.SDC
) -> Reading:
    """The reading of a line about the numbers of one rank, or of one that it does not name."""
    rank, firm = _find_accused_rank(text)
    if rank is None:
        # A rank that prints of all replicas is no place of the fault.
        blame = Blame.NOBODY if _AMONG_MANY.search(text) else None
        return Reading(category=category, weak=True if weak is None else weak, blame=blame)
    return Reading(
        category=category,
        weak=not firm if weak is None else weak,
        fields={"of_rank": rank},
    )


def read_differs(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A replica, its hash or its gradients that are not those of the others."""
    text = match.string
    if _OF_A_FILE.search(text) or _ALL_WELL.search(text) or not _SOMEBODY.search(text):
        return None
    return read_corruption(text)


def read_repeated(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A step that was run again on the same input, with another result."""
    if _ALL_WELL.search(match.string) or _ASKED_FOR.search(match.string):
        return None
    if _SAME_AGAIN.search(match.string) and not _NOT_AGAIN.search(match.string):
        return Reading(category=Category.NUMERICAL, also=(), blame=Blame.NOBODY, weak=True)
    return read_corruption(match.string, weak=False)


def read_failed_check(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A check of the arithmetic itself; it needs no other rank to compare with."""
    text = match.string
    if _ALL_WELL.search(text):
        return None
    return read_corruption(
        text, weak=re.search(r"suspect|possible|maybe|may be", text, re.I) is not None
    )


_OF_GPU = compile_re(r"\b(?:GPU|device|cuda)[ _#:=-]{0,2}(\d{1,3})\b", re.IGNORECASE)
# "alignment test bd-05: output differs": the node that was tested, of which many print.
_TESTED_NODE = compile_re(
    r"\b(?:test|check|diag\w{0,10}|node|host)(?: (?:on|of|for))?[ =]"
    r"([A-Za-z](?:[\w.-]{0,60}[\w-])?\d[\w.-]{0,30})(?::|,| failed)"
)


def read_output_differs(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The result of a test, of the GPU or the rank that it names."""
    text = match.string
    if _OF_A_FILE.search(text):
        return None
    rank, _ = _find_accused_rank(text)
    if rank is not None:
        return read_corruption(text, weak=False)
    gpu, node = _OF_GPU.search(text), _TESTED_NODE.search(text)
    fields = {} if gpu is None else {"cuda_device": gpu[1]}
    if node is not None:
        fields["node"] = node[1]
    return Reading(fields=fields, weak=not fields)


def read_accused(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The rank whose numbers are wrong."""
    return read_corruption(match.string, weak=False)


# Not done yet: "need to rerun on a different GPU to decide".
_ASKED_FOR = compile_re(r"\b(?:needs? to|will|should|must|going to|to decide|in order to)\b", re.I)
# A bad result that comes again is the model's or the program's.
_SAME_AGAIN = compile_re(
    r"\breproduc(?:es|ed|ible|ibly)\b|\b(?:exactly )?the same (?:bad |wrong )?(?:nan|inf|loss"
    r"|spike|"
    r"value|result)|\b(?:same|identical) (?:nan|inf|spike)\b",
    re.IGNORECASE,
)
_NOT_AGAIN = compile_re(
    r"\b(?:not|never|n't|non|cannot|can't|only)[ -](?:\w{1,16}[ -]){0,2}reproduc"
    r"|irreproduc|unreproduc",
    re.IGNORECASE,
)
