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
from triage.domain.evidence import Blame, Kind
from triage.signatures.job_line import ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

CORRUPTION = Family("sdc", Kind.NUMERICS)
SDC = Category.SDC
GPU = Category.GPU
NUMERICAL = Category.NUMERICAL
CHECKS = "trainers' own checks: replicas, reruns, self tests"

# rank 17, rank=17, global rank 17, Rank-17, [rank17]
RANK = re.compile(
    r"(?P<within>\b(?:local|group|dp|tp|pp|ep|cp|sp|data[ -]?parallel|tensor[ -]?parallel|"
    r"pipeline|expert|replica|shard)[ _-])?\b(?:global[ _-])?rank[ _#:=-]{0,2}"
    r"(?P<number>\d{1,7})\b",
    re.IGNORECASE,
)
REPORTS = re.compile(
    r"\brank[ _#:=-]{0,2}\d{1,7}\]?:? {1,2}(?:reports?|reported|says|sees|saw|observed|observes|"
    r"detected|detects|found|finds|claims|noticed|received|recomputed|flags?|flagged|voted?|"
    r"votes)\b",
    re.IGNORECASE,
)
MAJORITY = re.compile(
    r"majority|\bothers?\b|\ball (?:the )?other|\bpeers\b|quorum|consensus|\bgolden\b|\breference\b"
    r"|\bexpected\b|its replica group|the rest|outlier|\bodd one\b|\bonly on\b"
    r"|\b\d{1,7} ?(?:/|of|out of) ?\d{1,7}\b|\bminority\b",
    re.IGNORECASE,
)
# What belongs to a file or a message, and not to what a GPU computed.
OF_A_FILE = re.compile(
    r"\b(?:archive|files?|image|download\w*|shard|tarball|package|wheel|checkpoint|ckpt|config\w*|"
    r"dataset|source|tokenizer|manifest|block|btrfs|ext4|xfs|header|firmware|superblock|inode|"
    r"disk|object|upload\w*)\b|/[\w.-]{1,64}/|s3://|gs://",
    re.IGNORECASE,
)
ALL_WELL = re.compile(
    r"\b(?:no|zero|0|without|passed?|passes|ok|clean|disabled|enabled|starting|started|checking|"
    r"will|if|skipp\w+) (?:\w+ ){0,3}(?:mismatch\w*|differ\w*|sdc|silent|corrupt\w*|errors?|"
    r"checks?|violations?)\b|\b(?:check|checks|test|tests|validation)s? (?:has |have )?"
    r"(?:passed|ok|succeeded|is on|are on|enabled|disabled)\b",
    re.IGNORECASE,
)


def ranks_of(text: str) -> list[str]:
    """The global ranks that ``text`` names, in its order."""
    return [found["number"] for found in RANK.finditer(text) if not found["within"]]


def accused(text: str) -> tuple[str | None, bool]:
    """The rank whose numbers are wrong, and whether anything but one other says so."""
    reporter = REPORTS.search(text)
    behind = text if reporter is None else text[reporter.end() :]
    named = ranks_of(behind)
    if not named:
        return None, False
    different = list(dict.fromkeys(named))
    against = MAJORITY.search(text) is not None
    paired = re.search(
        r"\bbetween rank|\branks? \d{1,7} (?:and|vs\.?|versus|&) (?:rank )?\d",
        behind,
        re.IGNORECASE,
    )
    if paired is not None and len(different) > 1 and not against:
        return None, False
    return different[0], against or len(different) == 1


def about(text: str, *, weak: bool | None = None, category: Category = SDC) -> Reading:
    """The reading of a line about the numbers of one rank, or of one that it does not name."""
    rank, firm = accused(text)
    if rank is None:
        return Reading(category=category, weak=True if weak is None else weak)
    return Reading(
        category=category,
        weak=not firm if weak is None else weak,
        fields={"of_rank": rank},
    )


def differs(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A replica, its hash or its gradients that are not those of the others."""
    text = found.string
    if OF_A_FILE.search(text) or ALL_WELL.search(text):
        return None
    return about(text)


def repeated(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A step that was run again on the same input, with another result."""
    if ALL_WELL.search(found.string):
        return None
    return about(found.string, weak=False)


def failed_check(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A check of the arithmetic itself; it needs no other rank to compare with."""
    text = found.string
    if ALL_WELL.search(text):
        return None
    return about(text, weak=re.search(r"suspect|possible|maybe|may be", text, re.I) is not None)


def before_reduction(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A NaN that one rank had by itself."""
    text = found.string
    if re.search(r"\ball ranks\b|\bevery rank\b|after (?:the )?(?:all[ -_]?)?reduc", text, re.I):
        return None
    reading = about(text, weak=False)
    return Reading(
        category=SDC,
        also=(NUMERICAL, GPU),
        weak=True,
        fields={**reading.fields, "before_reduction": "1"},
    )


# Megatron-LM's own words are read by their own entries.
OF_MEGATRON = r"(?:First|Second) rerun: |Unexpected result \S|found (?:NaN|Inf)\S{0,4} in local"
NAN = r"(?:nans?|infs?|infinity|non-?finite|not finite)"
LOCALLY = (
    r"(?:local(?:ly)? (?:\w{1,16} )?(?:loss|grad\w*|norm|forward|backward|activation\w*|output)"
    r"|(?:before|prior to|ahead of|pre-?) ?(?:the )?(?:\w{1,16}[ -])?"
    r"(?:reduction|all[-_ ]?reduce|reduce[-_ ]?scatter|allreduce|sync\w*|communication|collective))"
)

CORRUPTION.add(
    "rerun_differs",
    ROOT,
    (
        "replay",
        "rerun",
        "re-run",
        "recompute",
        "recomputation",
        "bit-exact",
        "bitwise",
        "bit-identical",
        "not reproducible",
        "non-reproducible",
        "same batch",
        "re-execution",
        "second run of",
    ),
    r"(?:\b(?:deterministic )?(?:replay(?:ed|ing)?|re-?run(?:ning)?|recompute[ds]?|recomputation"
    r"|re-?execut\w{2,5}|second run|two runs|runs? of the same batch)\b.{0,120}?"
    r"(?:mismatch|differ(?:s|ed|ent)?\b|does ?n[o']t match|did ?n[o']t match|not (?:bit|reproduc)"
    r"|diverge[sd]?|disagree|!=)"
    r"|(?:mismatch|differ(?:s|ed)?\b).{0,60}?\b(?:between|over|across|on) (?:two |both )?"
    r"(?:runs|replays|reruns|executions)\b"
    r"|\b(?:step|iteration|batch|gemm|matmul|result|loss|output|forward|backward)\b.{0,60}?\bnot "
    r"(?:bit-?(?:exact|wise|identical)|reproducible)\b.{0,60}?\brank)",
    (
        "Deterministic replay of step 412 on rank 9 gave a different loss (2.31 vs 2.97)",
        "ERROR sdc: recompute of layer 3 on rank 21: mismatch in 12 of 4096 elements",
        "[sdc-check] replay of step 90 on a spare GPU: loss matches the replicas; mismatch only on"
        " rank 12",
        "gradient checksum of rank 9 differs between two runs of the same batch",
        "iteration 31 is not bit-exact when run again on rank 4",
    ),
    (
        "replay buffer holds 4096 samples, different seeds per rank",
        "Recomputed values for the following tensors have different metadata than during the"
        " forward pass.",
        "rerun mode is on: results of rank 3 are validated",
        "replay of step 12 passed: no mismatch on rank 3",
    ),
    CHECKS,
    category=SDC,
    also=(GPU, NUMERICAL),
    blame=Blame.SELF,
    each=True,
    read=lambda found, after: (
        None
        if re.search(
            rf"replay buffer|different metadata|activation checkpoint|{OF_MEGATRON}",
            found.string,
            re.IGNORECASE,
        )
        else repeated(found, after)
    ),
)
CORRUPTION.add(
    "check_failed",
    ROOT,
    (
        "silent data corruption",
        "silent corruption",
        "silent error",
        "sdc detected",
        "sdc suspected",
        "sdc found",
        "sdc confirmed",
        "sdc error",
        "sdc event",
        "abft",
        "self-test",
        "self test",
        "self-check",
        "self check",
        "gemm ",
        "matmul ",
        "golden",
        "bit flip",
        "bitflip",
        "bit-flip",
        "wrong result",
        "wrong results",
        "incorrect result",
        "arithmetic check",
        "compute check",
        "numerical check",
    ),
    r"\bsilent (?:data )?(?:corruption|error)s? (?:was |is |has been )?"
    r"(?:detected|found|suspected|confirmed|on|at)\b"
    r"|(?:detected|found|suspect(?:ed)?|confirmed) (?:a |possible )?silent (?:data )?corruption"
    r"|\bSDC (?:was )?(?:detected|found|suspected|confirmed|error|event)\b"
    r"|\bABFT\b.{0,80}?(?:violat|mismatch|fail|error|residual|exceed)"
    r"|\b(?:gemm|matmul|tensor ?core|arithmetic|compute|numerical)s?\b.{0,40}?"
    r"(?:self[- ]?(?:test|check)|check|test|verification|golden).{0,60}?"
    r"(?:mismatch|fail(?:ed|ure)|differ|wrong|violat|incorrect)"
    r"|\bself[- ]?(?:test|check)\b.{0,60}?(?:mismatch|results? differ|wrong result|incorrect)"
    r"|\bchecksum violation in\b|\b(?:gemm|matmul)\b.{0,60}?\b(?:result|checksum)s? "
    r"(?:mismatch|differ)"
    r"|\bgolden (?:value|result|output|hash|checksum)s?\b.{0,60}?(?:mismatch|differ|!=|not match)"
    r"|(?:mismatch|differs?)\b.{0,40}?\bgolden\b"
    r"|\bbit[- ]?flips? (?:was |were )?(?:detected|found|in|on)\b"
    r"|\b(?:wrong|incorrect) results? (?:from|of|on|by|computed by) (?:gpu|rank|device)\b",
    (
        "SDC detected on rank 17 GPU 1: matmul self-test result mismatch",
        "ABFT checksum violation in GEMM on rank 9: row 112 residual 4.1e3 exceeds the threshold",
        "TensorCore self-check failed on rank 3: 4 of 1000 gemm results differ",
        "node n4: silent data corruption suspected on rank 33",
        "golden checksum mismatch in the compute check of rank 7",
    ),
    (
        "SDC check passed on rank 9",
        "silent data corruption checks are on",
        "the self-test of the fan passed",
        "gemm autotuning: 12 configs tried",
    ),
    CHECKS,
    category=SDC,
    also=(GPU, NUMERICAL),
    each=True,
    read=failed_check,
)
CORRUPTION.add(
    "replica_differs",
    ROOT,
    (
        "checksum",
        "fingerprint of",
        "fingerprint mismatch",
        "param hash",
        "weight hash",
        "weights hash",
        "state hash",
        "model hash",
        "gradient hash",
        "grad hash",
        "hash mismatch",
        "hash of rank",
        "differs from majority",
        "differs from the majority",
        "disagrees with",
        "replica divergence",
        "replicas diverged",
        "replica mismatch",
        "replicas differ",
        "differ from rank",
        "differs from rank",
        "out of sync",
        "desynchronized",
    ),
    r"(?:\b(?:check ?sums?|fingerprints?|hash(?:es)?|crc\w{0,3}|digests?|(?:model |param\w{0,8} |"
    r"gradients? |weights? )?replicas?|param(?:eter)?s?|weights?|gradients?|optimizer states?)\b"
    r".{0,100}?(?:mismatch|differ(?:s|ed|ent)?\b|deviates?|disagrees?|diverge[sd]?|divergence"
    r"|does ?n[o']t match|do not match|not identical|not equal|inconsistent|out of sync)"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,40}?\b(?:differs|disagrees|deviates|diverged) "
    r"(?:from|with)\b)"
    r"(?=.{0,200}?\brank|(?<=.).{0,200}?\breplica)|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,100}?"
    r"(?:check ?sum|fingerprint|hash) (?:mismatch|differs|does not match)"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,60}?\bdifferent (?:check ?sum|hash|fingerprint)\b"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,60}?\b(?:differs|disagrees|deviates) (?:from|with)"
    r" (?:the )?(?:majority|\d{1,7} others?|(?:all )?others?|\d{1,7} other)",
    (
        "rank 5 reports that rank 17 returned a checksum that does not match the other ranks",
        "rank 17 differs from majority: weight hash 0x9f31, 63 others 0x11ab",
        "param checksum mismatch across data-parallel replicas at step 9: rank 4 differs from 7"
        " others",
        "checksum of rank 9's parameters differs from rank 0",
        "replica 3 (rank 17) disagrees with 7 other replicas on the param hash",
    ),
    (
        "checksum mismatch of the archive on rank 3",
        "source checksum mismatch on rank 2: /opt/train/main.py",
        "parameter checksums match across 64 ranks",
        "no replica mismatch found at step 900 on any rank",
        "dataset fingerprint differs from the cached one",
    ),
    CHECKS,
    category=SDC,
    also=(NUMERICAL, Category.SOFTWARE_FRAMEWORK, GPU),
    each=True,
    read=differs,
)
CORRUPTION.add(
    "nan_before_reduction",
    ROOT,
    (
        "local loss",
        "local grad",
        "local norm",
        "locally",
        "before all",
        "before reduc",
        "before the all",
        "before the reduc",
        "before sync",
        "before communication",
        "before collective",
        "prior to all",
        "prior to reduc",
        "prior to the ",
        "pre-allreduce",
        "pre-reduc",
        "pre-sync",
    ),
    rf"\b{NAN}\b.{{0,120}}?\b{LOCALLY}|\b{LOCALLY}.{{0,80}}?\b{NAN}\b",
    (
        "rank 9: local loss is nan before all-reduce, the other ranks are finite",
        "[rank9]: local grad norm inf before reduction",
        "rank 9 produced non-finite gradients before all_reduce (layer 22)",
        "WARNING NaN in gradients before reduce-scatter on rank 41",
    ),
    (
        "checking gradients for nan before all-reduce is enabled",
        "NaN in gradients on all ranks before the all-reduce at step 4",
        "local loss 2.31 on rank 9",
    ),
    CHECKS,
    category=SDC,
    also=(NUMERICAL, GPU),
    weak=True,
    each=True,
    read=lambda found, after: (
        None
        if re.search(rf"\benabled?\b|\bchecking\b|--\w|{OF_MEGATRON}", found.string)
        else before_reduction(found, after)
    ),
)
CORRUPTION.add(
    "nan_check_of_collective",
    ROOT,
    ("nancheck.cu", "assertion `!isnan("),
    r"NanCheck\.cu:\d{1,6}|Assertion `!isnan\(",
    (
        "NanCheck.cu:116: checkBytePack: block: [3,0,0], thread: [32,0,0] Assertion `!isnan(val)`"
        " failed.",
    ),
    ("NaN check of collectives is on",),
    "PyTorch: csrc/distributed/c10d/NanCheck.cu, TORCH_NCCL_NAN_CHECK: inputs of collectives",
    category=SDC,
    also=(NUMERICAL, Category.SOFTWARE_USER),
    weak=True,
    read=lambda _found, _after: Reading(fields={"before_reduction": "1"}),
)

SIGNATURES = CORRUPTION.signatures()
