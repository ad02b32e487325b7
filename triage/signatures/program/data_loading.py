"""Input that keeps one rank busy while the others wait in a collective.

A progress bar of a tokenizer is harmless by itself: noise with a category, which
counts only beside a barrier of one element that timed out. A traceback that runs
through ``main_process_first`` waited for exactly that.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]


# A batch that takes longer holds up a step of any size.
SLOW_S = 30.0


def slow(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """None for a wait that is no stall."""
    return Reading() if float(match["waited_s"]) >= SLOW_S else None


DATA = Family("data", Kind.DATA, category=Category.HOST_STALL)

DATA.root(
    "loader_timeout",
    r"DataLoader timed out after \d{1,9}|[Tt]imed out (?:while )?waiting for the next batch",
    literals=("dataloader timed out", "waiting for the next batch"),
    matches=("RuntimeError: DataLoader timed out after 120 seconds",),
    near_misses=("waiting for the next batch took 1 s",),
    source="PyTorch: utils/data/dataloader.py",
    also=(Category.STORAGE,),
)
DATA.root(
    "loader_stuck",
    r"\b(?:data ?loader|loader|prefetch\w{0,4}|input pipeline|data worker"
    r"|dataset)\b.{0,120}?\b(?:stuck|"
    r"stalled|hangs?|hung|hanging|no (?:batch|batches|data|samples?) for (?:more than )?\d)"
    r"|\bstuck in (?:the )?data ?loader\b|\bdata starvation: ",
    literals=(
        "no batch for",
        "no batches for",
        "no data for",
        "no sample for",
        "no samples for",
        "dataloader stuck",
        "data loader stuck",
        "worker stuck",
        "dataloader hang",
        "dataloader is stuck",
        "data loader is stuck",
        "dataloader stalled",
        "dataloader has stalled",
        "stuck in dataloader",
        "data starvation",
    ),
    matches=(
        "DataLoader worker stuck: no batch for 600 s (waiting on /mnt/lustre/shards/0012.tar)",
        "[rank3] dataloader is stuck, queue empty",
        "prefetcher stalled: no data for 300 s",
    ),
    near_misses=(
        "dataloader workers: 8, stuck detection after 600 s",
        "no data for the last column",
    ),
    source="trainers that watch their input",
    also=(Category.STORAGE,),
    weak=True,
    read=lambda match, _after: (
        None
        if "detect" in match.string
        else Reading(category=Category.STORAGE, also=(Category.HOST_STALL,))
        if re.search(r"(?<!\w)/(?!tmp/|dev/)\w[\w.-]*/|\b(?:s3|gs|az|hdfs)://", match.string)
        else Reading()
    ),
)
DATA.root(
    "slow_loader",
    r"(?:data loading|dataloader|slow dataloader|waited for data).{0,40}?"
    r"(?P<waited_s>\d{1,9}(?:\.\d{1,9})?) ?s(?:ec|econds)?\b",
    literals=("data loading took", "slow dataloader", "dataloader took", "waited for data"),
    matches=("step 120: data loading took 312.4 s", "WARNING: Slow dataloader: batch took 61.2s"),
    near_misses=("data loading took 0.4 s",),
    source="trainers that time their input",
    also=(Category.STORAGE,),
    weak=True,
    read=slow,
)
DATA.consequence(
    "main_process_first",
    r"with .{0,80}main_process_first\(|, line \d{1,6}, in (?:local_)?main_process_first",
    literals=("main_process_first(", "in main_process_first", "in local_main_process_first"),
    matches=(
        '    with training_args.main_process_first(desc="map"):',
        '  File "/x/training_args.py", line 2012, in main_process_first',
    ),
    near_misses=("def main_process_first(self):",),
    source="transformers, accelerate: a frame of a traceback",
    also=(Category.NCCL_TIMEOUT,),
    blame=Blame.PEER,
    read=lambda _match, _after: Reading(peer="rank 0"),
)
DATA.noise(
    "preprocessing_bar",
    r"(?P<stage>Running tokenizer on [\w ]{1,40}|Tokenizing[\w ()=]{0,60}|Grouping texts[\w ]{0,40}"
    r"|Preprocessing dataset[\w ]{0,40}|(?:Map|Filter)(?: \(num_proc=\d{1,4}\))?"
    r"|Generating \w{1,20} split|Converting format of [\w ]{1,40})(?: \(num_proc=\d{1,4}\))?: {1,4}"
    r"(?P<percent>\d{1,3})%",
    literals=(
        "running tokenizer on",
        "tokenizing",
        "grouping texts",
        "preprocessing dataset",
        "map (num_proc=",
        "map: ",
        "filter: ",
        "filter (num_proc=",
        "train split: ",
        "converting format of",
    ),
    matches=(
        "Running tokenizer on dataset:   9%|#8  | 338973/9758753 [29:55<4:48:08, 155.5 examples/s]",
        "Map (num_proc=8):  41%|####1 | 4100/10000 [00:02<00:03, 1811.10 examples/s]",
        "Grouping texts in chunks of 2048:   8%|8 | 4344/53867 [02:32<30:38, 486.01 examples/s]",
    ),
    near_misses=("Map: rank 0 -> n0",),
    source="datasets: map and filter",
)
DATA.noise(
    "index_build",
    r"building (?:the )?(?:dataset )?ind(?:ices|ex)(?: on rank (?P<builder>\d{1,7}))?",
    literals=(
        "building the indices on rank 0",
        "building indices on rank 0",
        "building dataset index",
    ),
    matches=("> WARNING: could not find index map files, building the indices on rank 0 ...",),
    near_misses=("building the model on rank 0",),
    source="Megatron-LM: data/gpt_dataset.py",
)

SIGNATURES = DATA.signatures()
