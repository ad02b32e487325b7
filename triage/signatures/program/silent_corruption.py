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
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

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
# Whose numbers: without any of these a checksum is that of a file or a message.
SOMEBODY = re.compile(r"\branks?\b|\breplicas?\b|\bGPU[ _#:=-]{0,2}\d", re.IGNORECASE)
AMONG_MANY = re.compile(
    r"\b(?:across|among|between) (?:the |all )?(?:\w{1,16}[- ]){0,2}(?:replicas|ranks|workers"
    r"|gpus)\b",
    re.IGNORECASE,
)
ALL_WELL = re.compile(
    r"\b(?:no|zero|0|without|passed?|passes|ok|clean|disabled|enabled|starting|started|checking|"
    r"will|if|skipp\w+) (?:\w+ ){0,3}(?:mismatch\w*|differ\w*|sdc|silent|corrupt\w*|errors?|"
    r"checks?|violations?)\b|\b(?:check|checks|test|tests|validation)s? (?:has |have )?"
    r"(?:passed|ok|succeeded|is on|are on|enabled|disabled)\b",
    re.IGNORECASE,
)


# Whom a value is held against: "differs from rank 0", "0x1f != that of rank 3".
HELD_AGAINST = re.compile(
    r"(?:(?:differ|deviat|disagree|diverg)\w{0,4}|match(?:es)?\b|equal\w{0,2}|!=|\bvs\.?|\bversus|"
    r"\bthan|\bunlike|\bagainst|\bcompared)"
    r"(?: {1,2}(?:from|with|to|that of|those of|the (?:one|ones|value|hash|checksum) (?:of|on"
    r"|at))){0,2}"
    r" {0,2}\[?(?=(?:global )?rank[ _#:=-]{0,2}\d)",
    re.IGNORECASE,
)
# "rank 0: ...", also behind a tag, before words about another rank: who prints.
LABEL = re.compile(
    r"\s{0,8}(?:[A-Za-z][\w.-]{1,64}: {1,2}(?=\[))?(?:\[[a-z][\w .:/-]{0,40}\] {0,2}){0,2}"
    r"\[?(?:global )?rank[ _#:=-]{0,2}\d{1,7}\]?(?::| -) ",
    re.IGNORECASE,
)


# "odd one out: rank 16": who is meant, whatever other ranks are named.
ODD_ONE = re.compile(
    r"(?:\bodd (?:one|rank|member) out|\boutlier|\bminority|\bculprit|\boffender)"
    r"(?:\s?(?:is|was|[:=-]|->)){0,2}\s{0,2}\[?(?=(?:global )?rank[ _#:=-]{0,2}\d)",
    re.IGNORECASE,
)


def ranks_of(text: str) -> list[str]:
    """The global ranks that ``text`` names, in its order."""
    return [match["number"] for match in RANK.finditer(text) if not match["within"]]


def wrong_ranks(text: str) -> list[str]:
    """The ranks that ``text`` is about: neither who prints nor whom they are held against."""
    odd = ODD_ONE.search(text)
    if odd is not None:
        return ranks_of(text[odd.end() :])[:1]
    reporter = REPORTS.search(text) or LABEL.match(text)
    for behind in (text if reporter is None else text[reporter.end() :], text):
        against = {found.end() for found in HELD_AGAINST.finditer(behind)}
        found = [
            one["number"]
            for one in RANK.finditer(behind)
            if not one["within"] and one.start() not in against
        ]
        if found:
            return found
    return ranks_of(text)


def accused(text: str) -> tuple[str | None, bool]:
    """The rank whose numbers are wrong, and whether anything but one other says so."""
    reporter = REPORTS.search(text)
    behind = text if reporter is None else text[reporter.end() :]
    named = wrong_ranks(text)
    if not named:
        return None, False
    different = list(dict.fromkeys(named))
    against = MAJORITY.search(text) is not None
    paired = re.search(
        r"\bbetween rank|\branks? \d{1,7} (?:and|vs\.?|versus|&) (?:rank )?\d",
        behind,
        re.IGNORECASE,
    )
    if paired is not None and len(set(ranks_of(behind))) > 1 and not against:
        return None, False
    return different[0], against or len(set(ranks_of(behind))) == 1


def about(text: str, *, weak: bool | None = None, category: Category = Category.SDC) -> Reading:
    """The reading of a line about the numbers of one rank, or of one that it does not name."""
    rank, firm = accused(text)
    if rank is None:
        # A rank that prints of all replicas is no place of the fault.
        blame = Blame.NOBODY if AMONG_MANY.search(text) else None
        return Reading(category=category, weak=True if weak is None else weak, blame=blame)
    return Reading(
        category=category,
        weak=not firm if weak is None else weak,
        fields={"of_rank": rank},
    )


def differs(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A replica, its hash or its gradients that are not those of the others."""
    text = match.string
    if OF_A_FILE.search(text) or ALL_WELL.search(text) or not SOMEBODY.search(text):
        return None
    return about(text)


def repeated(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A step that was run again on the same input, with another result."""
    if ALL_WELL.search(match.string) or ASKED_FOR.search(match.string):
        return None
    if SAME_AGAIN.search(match.string) and not NOT_AGAIN.search(match.string):
        return Reading(category=Category.NUMERICAL, also=(), blame=Blame.NOBODY, weak=True)
    return about(match.string, weak=False)


def failed_check(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A check of the arithmetic itself; it needs no other rank to compare with."""
    text = match.string
    if ALL_WELL.search(text):
        return None
    return about(text, weak=re.search(r"suspect|possible|maybe|may be", text, re.I) is not None)


OF_GPU = re.compile(r"\b(?:GPU|device|cuda)[ _#:=-]{0,2}(\d{1,3})\b", re.IGNORECASE)
# "alignment test bd-05: output differs": the node that was tested, of which many print.
TESTED_NODE = re.compile(
    r"\b(?:test|check|diag\w{0,10}|node|host)(?: (?:on|of|for))?[ =]"
    r"([A-Za-z](?:[\w.-]{0,60}[\w-])?\d[\w.-]{0,30})(?::|,| failed)"
)


def tested(match: re.Match[str]) -> Reading | None:
    """The result of a test, of the GPU or the rank that it names."""
    text = match.string
    if OF_A_FILE.search(text):
        return None
    rank, _ = accused(text)
    if rank is not None:
        return about(text, weak=False)
    gpu, node = OF_GPU.search(text), TESTED_NODE.search(text)
    fields = {} if gpu is None else {"cuda_device": gpu[1]}
    if node is not None:
        fields["node"] = node[1]
    return Reading(fields=fields, weak=not fields)


def before_reduction(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A NaN that one rank had by itself."""
    text = match.string
    if re.search(r"\ball ranks\b|\bevery rank\b|after (?:the )?(?:all[ -_]?)?reduc", text, re.I):
        return None
    if re.search(rf"\b(?:no|0|zero|without) {NAN}", text, re.I):
        return None
    reading = about(text, weak=False)
    return Reading(
        category=Category.SDC,
        also=(Category.NUMERICAL, Category.GPU),
        weak=True,
        fields={**reading.fields, "before_reduction": "1"},
    )


# Not done yet: "need to rerun on a different GPU to decide".
ASKED_FOR = re.compile(r"\b(?:needs? to|will|should|must|going to|to decide|in order to)\b", re.I)
# A bad result that comes again is the model's or the program's.
SAME_AGAIN = re.compile(
    r"\breproduc(?:es|ed|ible|ibly)\b|\b(?:exactly )?the same (?:bad |wrong )?(?:nan|inf|loss"
    r"|spike|"
    r"value|result)|\b(?:same|identical) (?:nan|inf|spike)\b",
    re.IGNORECASE,
)
NOT_AGAIN = re.compile(
    r"\b(?:not|never|n't|non|cannot|can't|only)[ -](?:\w{1,16}[ -]){0,2}reproduc"
    r"|irreproduc|unreproduc",
    re.IGNORECASE,
)
# Megatron-LM's own words are read by their own entries.
OF_MEGATRON = r"(?:First|Second) rerun: |Unexpected result \S|found (?:NaN|Inf)\S{0,4} in local"
NAN = r"(?:nans?|infs?|infinity|non-?finite|not finite)"
LOCALLY = (
    r"(?:local(?:ly)? (?:\w{1,16} )?(?:loss|grad\w*|norm|forward|backward|activation\w*|output)"
    r"|(?:before|prior to|ahead of|pre-?) ?(?:the )?(?:\w{1,16}[ -])?"
    r"(?:reduc(?:e|tion)\b|all[-_ ]?reduce|reduce[-_ ]?scatter|allreduce|sync\w*|communication"
    r"|collective))"
)

CORRUPTION = Family("sdc", Kind.NUMERICS, category=Category.SDC)

CORRUPTION.root(
    "rerun_differs",
    r"(?:\b(?:deterministic )?(?:replay(?:ed|ing)?|re-?run(?:ning)?|recompute[ds]?|recomputation"
    r"|re-?execut\w{2,5}|second run|two runs|runs? of the same batch)\b.{0,120}?"
    r"(?:mismatch|differ(?:s|ed|ent)?\b|does ?n[o']t match|did ?n[o']t match|not (?:bit|reproduc)"
    r"|diverge[sd]?|disagree|!=)"
    r"|\b(?:replay(?:ed|ing)?|re-?run(?:ning)?|repeated|recompute[ds]?)\b.{0,80}?\b(?:NaN|Inf|spike)s?\b"
    r".{0,60}?\breproduc(?:es|ed)\b|\b(?:replay(?:ed|ing)?|re-?run(?:ning)?|repeated|recompute[ds]?)\b"
    r".{0,60}?\breproduc(?:es|ed) the (?:same )?(?:NaN|Inf|spike|loss|divergence)"
    r"|\b(?:replay(?:ed|ing)?|re-?run(?:ning)?|repeated|recompute[ds]?)\b.{0,60}?\bon (?:a |an )?"
    r"(?:spare|different|another|other|healthy) (?:gpu|node|host|device|rank|machine)\b.{0,60}?"
    r"\b(?:finite|clean|correct|no nans?|differs?|different|normal)\b"
    r"|(?:mismatch|differ(?:s|ed)?\b).{0,60}?\b(?:between|over|across|on) (?:two |both )?"
    r"(?:runs|replays|reruns|executions)\b"
    r"|\b(?:step|iteration|batch|gemm|matmul|result|loss|output|forward|backward)\b.{0,60}?\bnot "
    r"(?:bit-?(?:exact|wise|identical)|reproducible)\b.{0,60}?\brank)",
    literals=(
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
        "re-execut",
        "second run of",
        "on a spare ",
        "on another gpu",
        "on a different gpu",
        "on another node",
        "on a different node",
    ),
    matches=(
        "Deterministic replay of step 412 on rank 9 gave a different loss (2.31 vs 2.97)",
        "ERROR sdc: recompute of layer 3 on rank 21: mismatch in 12 of 4096 elements",
        "[sdc-check] replay of step 90 on a spare GPU: loss matches the replicas; mismatch only on"
        " rank 12",
        "gradient checksum of rank 9 differs between two runs of the same batch",
        "iteration 31 is not bit-exact when run again on rank 4",
        "rerun of step 310 reproduced the NaN on every rank: the model diverges",
        "NaN of rank 5: the step was rerun on a spare GPU and is finite there",
    ),
    near_misses=(
        "replay buffer holds 4096 samples, different seeds per rank",
        "Recomputed values for the following tensors have different metadata than during the"
        " forward pass.",
        "rerun mode is on: results of rank 3 are validated",
        "replay of step 12 passed: no mismatch on rank 3",
        "need to rerun on a different GPU to decide between persistent and correct result",
    ),
    source=CHECKS,
    also=(Category.GPU, Category.NUMERICAL),
    blame=Blame.SELF,
    each=True,
    read=lambda match, after: (
        None
        if re.search(
            rf"replay buffer|different metadata|activation checkpoint|{OF_MEGATRON}",
            match.string,
            re.IGNORECASE,
        )
        else repeated(match, after)
    ),
)
CORRUPTION.root(
    "check_failed",
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
    r"|\b(?:wrong|incorrect) results? (?:from|of|on|by|computed by) (?:gpu|rank|device)\b"
    r"|\b(?:determinism|reproducibility|bitwise) (?:\w{1,16} )?(?:test|check|validation)s?\b"
    r".{0,20}?"
    r"(?:fail(?:ed|ure)|mismatch)"
    r"|\b(?:sha\d{1,3}|md5|crc\d{0,2}|hash|digest)(?:sum)? of .{0,60}?"
    r"(?:differs?|mismatch)\w* (?:on|for|at)"
    r" (?:\d{1,7} of \d{1,7} )?(?:gpus?|ranks?|devices?)\b",
    literals=(
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
        "determinism ",
        "reproducibility ",
        "bitwise ",
        "sha256 of",
        "md5 of",
    ),
    matches=(
        "SDC detected on rank 17 GPU 1: matmul self-test result mismatch",
        "ABFT checksum violation in GEMM on rank 9: row 112 residual 4.1e3 exceeds the threshold",
        "TensorCore self-check failed on rank 3: 4 of 1000 gemm results differ",
        "node n4: silent data corruption suspected on rank 33",
        "golden checksum mismatch in the compute check of rank 7",
        "determinism check failed: md5 of the output of attention differs on 1 of 64 GPUs: rank 9",
    ),
    near_misses=(
        "SDC check passed on rank 9",
        "silent data corruption checks are on",
        "the self-test of the fan passed",
        "gemm autotuning: 12 configs tried",
    ),
    source=CHECKS,
    also=(Category.GPU, Category.NUMERICAL),
    each=True,
    read=failed_check,
)
CORRUPTION.root(
    "replica_differs",
    r"(?:\b(?:check ?sums?|fingerprints?|hash(?:es)?|crc\w{0,3}|digests?|(?:model |param\w{0,8} |"
    r"gradients? |weights? )?replicas?|param(?:eter)?s?|weights?|gradients?|optimizer states?)\b"
    r".{0,100}?(?:mismatch|differ(?:s|ed|ent)?\b|deviates?|disagrees?|diverge[sd]?|divergence"
    r"|does ?n[o']t match|do not match|not identical|not equal|inconsistent|out of sync)"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,40}?\b(?:differs|disagrees|deviates|diverged) "
    r"(?:from|with)\b)|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,100}?"
    r"(?:check ?sum|fingerprint|hash) (?:mismatch|differs|does not match)"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,60}?\bdifferent (?:check ?sum|hash|fingerprint)\b"
    r"|\brank[ _#:=-]{0,2}\d{1,7}\b.{0,60}?\b(?:differs|disagrees|deviates) (?:from|with)"
    r" (?:the )?(?:majority|\d{1,7} others?|(?:all )?others?|\d{1,7} other)",
    literals=(
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
        "hash of param",
        "hash of weight",
        "hash of grad",
        "hash differs",
        "hashes differ",
        "hash does not match",
        "hashes do not match",
        "digest mismatch",
        "digest differs",
        "crc mismatch",
        "parallel replicas",
        "parallel peers",
        "diverged between",
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
    matches=(
        "rank 5 reports that rank 17 returned a checksum that does not match the other ranks",
        "rank 17 differs from majority: weight hash 0x9f31, 63 others 0x11ab",
        "param checksum mismatch across data-parallel replicas at step 9: rank 4 differs from 7"
        " others",
        "checksum of rank 9's parameters differs from rank 0",
        "optimizer state of rank 3 differs from its data-parallel peers in 12 tensors",
        "weights diverged between data parallel replicas: rank 12 crc32=0x11 expected 0x22",
        "replica 3 (rank 17) disagrees with 7 other replicas on the param hash",
        "rank 0: checksum of bucket 7 from rank 13 does not match (0x1f, expected 0x2f)",
        "Hash of parameters differs on rank 6: 1234, and 1235 on 7 other ranks",
        "RuntimeError: replica checksum mismatch",
        "rank 27: parameter checksum mismatch in its group: majority 0xd1, odd one out: rank 16",
    ),
    near_misses=(
        "checksum mismatch of the archive on rank 3",
        "source checksum mismatch on rank 2: /opt/train/main.py",
        "parameter checksums match across 64 ranks",
        "no replica mismatch found at step 900 on any rank",
        "dataset fingerprint differs from the cached one",
    ),
    source=CHECKS,
    also=(Category.NUMERICAL, Category.SOFTWARE_FRAMEWORK, Category.GPU),
    each=True,
    read=differs,
)
CORRUPTION.root(
    "nan_before_reduction",
    rf"\b{NAN}\b.{{0,120}}?\b{LOCALLY}|\b{LOCALLY}.{{0,80}}?\b{NAN}\b"
    rf"|\b{NAN}\b.{{0,80}}?\bunreduced grad|\bunreduced grad\w*.{{0,80}}?\b{NAN}\b"
    rf"|\bonly (?:on |at |global )?rank[ _#:=-]{{0,2}}\d{{1,7}}\b.{{0,60}}?\b{NAN}\b"
    rf"|\b{NAN}\b.{{0,60}}?\bonly (?:on|at|in|from) (?:global )?rank[ _#:=-]{{0,2}}\d{{1,7}}\b"
    rf"|\brank[ _#:=-]{{0,2}}\d{{1,7}}\b.{{0,80}}?\b{NAN}\b.{{0,60}}?\b(?:inputs?|weights|others?|"
    r"ranks?|the rest|peers)\b.{0,60}? finite\b"
    rf"|\b{NAN}\b.{{0,80}}?\brank[ _#:=-]{{0,2}}\d{{1,7}}\b.{{0,60}}?\bother(?: \d{{1,7}})? ranks?"
    r" (?:are|have|is|were|stay\w*) (?:all )?(?:finite|fine|clean|normal)"
    rf"|\brank[ _#:=-]{{0,2}}\d{{1,7}}\b.{{0,60}}?\b{NAN}\b.{{0,60}}?\bother(?: \d{{1,7}})? ranks?"
    r" (?:are|have|is|were|stay\w*) (?:all )?(?:finite|fine|clean|normal)",
    literals=(
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
        "unreduced grad",
        "only rank ",
        "only on rank ",
        " finite",
        "before grad",
    ),
    matches=(
        "rank 9: local loss is nan before all-reduce, the other ranks are finite",
        "[rank9]: local grad norm inf before reduction",
        "rank 9 produced non-finite gradients before all_reduce (layer 22)",
        "WARNING NaN in gradients before reduce-scatter on rank 41",
        "non-finite loss: only rank 12 has nan",
        "NaN in the unreduced gradients of rank 12",
        "loss of rank 12 is nan, other 63 ranks are finite",
        "activations on rank 9 contain NaN although inputs and weights are finite",
        "rank 37 local grad norm is nan, global ranks 0-36,38-63 finite",
    ),
    near_misses=(
        "checking gradients for nan before all-reduce is enabled",
        "NaN in gradients on all ranks before the all-reduce at step 4",
        "local loss 2.31 on rank 9",
    ),
    source=CHECKS,
    also=(Category.NUMERICAL, Category.GPU),
    weak=True,
    each=True,
    read=lambda match, after: (
        None
        if re.search(rf"\benabled?\b|\bchecking\b|--\w|{OF_MEGATRON}", match.string)
        else before_reduction(match, after)
    ),
)
CORRUPTION.root(
    "nan_check_of_collective",
    r"NanCheck\.cu:\d{1,6}|Assertion `!isnan\(",
    literals=("nancheck.cu", "assertion `!isnan("),
    matches=(
        "NanCheck.cu:116: checkBytePack: block: [3,0,0], thread: [32,0,0] Assertion `!isnan(val)`"
        " failed.",
    ),
    near_misses=("NaN check of collectives is on",),
    source="PyTorch: csrc/distributed/c10d/NanCheck.cu, TORCH_NCCL_NAN_CHECK: inputs of"
    " collectives",
    also=(Category.NUMERICAL, Category.SOFTWARE_USER),
    weak=True,
    read=lambda _match, _after: Reading(fields={"before_reduction": "1"}),
)

CORRUPTION.root(
    "output_differs",
    r"\b(?:outputs?|results?|checksums?|logits?|activations?|gradients?|values?)\b.{0,60}?"
    r"(?:(?<!not )differs?|d(?:oes|o) not match|deviates?) (?:from )?(?:the )?(?:golden |cpu )?"
    r"reference|\b(?:detected|found|saw) [1-9]\d{0,12} miscompares?|(?<!\b0 )(?<!\bno"
    r" )\bmiscompares? (?:at|on|in|detected|found)\b"
    r"|[Aa] memory mismatch was detected on GPU|\bGPU \d{1,3}\b.{0,60}?\bcomput(?:e|ation) "
    r"(?:mismatch|errors?)\b|\bcomput(?:e|ation) (?:mismatch|errors?) (?:detected |found )?on GPU"
    r"|\bdata corruption detected (?:on|in|at|by) (?:gpu|rank|device)"
    r"|\bcorrupt(?:ed)? results? (?:of|from|on|by) (?:gpu|rank|device)",
    literals=(
        "differs from reference",
        "differs from the reference",
        "differ from reference",
        "differ from the reference",
        "not match reference",
        "not match the reference",
        "miscompare",
        "memory mismatch was detected",
        "compute mismatch",
        "computation mismatch",
        "computation error",
        "data corruption detected",
        "corrupted result",
        "corrupt result",
    ),
    matches=(
        "Output differs from reference, checksum 0x1f2e != 0x1f2f on GPU 3",
        "A memory mismatch was detected on GPU 3, but no error was reported by CUDA or NVML.",
        "gpu_memtest: GPU 3: detected 17 miscompares at 0x7f12",
        "diag: GPU 5 - targeted_stress: compute mismatch, 3 errors",
    ),
    near_misses=(
        "the output does not differ from reference: checksum ok",
        "expected config differs from the reference in 3 keys",
        "0 miscompares on GPU 3",
    ),
    source="DCGM: dcgm_errors.h; burn-in and memory tests of GPUs",
    also=(Category.GPU, Category.GPU_HBM),
    each=True,
    read=lambda match, _after: tested(match),
)
CORRUPTION.root(
    "burn_faulty",
    r"^\s{0,8}GPU (?P<cuda_device>\d{1,3}): FAULTY\b",
    literals=(": faulty",),
    matches=("\tGPU 3: FAULTY",),
    near_misses=("\tGPU 3: OK",),
    source="gpu-burn: its last lines",
    also=(Category.GPU,),
    each=True,
)
CORRUPTION.root(
    "collective_test_wrong",
    r"# Out of bounds values : (?P<wrong>[1-9]\d{0,12}) FAILED",
    literals=("out of bounds values",),
    matches=("# Out of bounds values : 12 FAILED",),
    near_misses=("# Out of bounds values : 0 OK",),
    source="nccl-tests: the last lines of a run with checks",
    also=(Category.NETWORK, Category.GPU, Category.SOFTWARE_FRAMEWORK),
    blame=Blame.NOBODY,
    weak=True,
)

SIGNATURES = CORRUPTION.signatures()
