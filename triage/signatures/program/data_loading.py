"""Input that keeps one rank busy while the others wait in a collective.

A progress bar of a tokenizer is harmless by itself: noise with a category, which
counts only beside a barrier of one element that timed out. A traceback that runs
through ``main_process_first`` waited for exactly that.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.job_line import CONSEQUENCE, NOISE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

DATA = Family("data", Kind.DATA)
STALL = Category.HOST_STALL

# A batch that takes longer holds up a step of any size.
SLOW_S = 30.0


def slow(found: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """None for a wait that is no stall."""
    return Reading() if float(found["waited_s"]) >= SLOW_S else None


DATA.add(
    "loader_timeout",
    ROOT,
    ("dataloader timed out", "waiting for the next batch"),
    r"DataLoader timed out after \d{1,9}|[Tt]imed out (?:while )?waiting for the next batch",
    ("RuntimeError: DataLoader timed out after 120 seconds",),
    ("waiting for the next batch took 1 s",),
    "PyTorch: utils/data/dataloader.py",
    category=STALL,
    also=(Category.STORAGE,),
)
DATA.add(
    "loader_stuck",
    ROOT,
    (
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
    r"\b(?:data ?loader|loader|prefetch\w{0,4}|input pipeline|data worker"
    r"|dataset)\b.{0,120}?\b(?:stuck|"
    r"stalled|hangs?|hung|hanging|no (?:batch|batches|data|samples?) for (?:more than )?\d)"
    r"|\bstuck in (?:the )?data ?loader\b|\bdata starvation: ",
    (
        "DataLoader worker stuck: no batch for 600 s (waiting on /mnt/lustre/shards/0012.tar)",
        "[rank3] dataloader is stuck, queue empty",
        "prefetcher stalled: no data for 300 s",
    ),
    ("dataloader workers: 8, stuck detection after 600 s", "no data for the last column"),
    "trainers that watch their input",
    category=STALL,
    also=(Category.STORAGE,),
    weak=True,
    read=lambda found, _after: (
        None
        if "detect" in found.string
        else Reading(category=Category.STORAGE, also=(STALL,))
        if re.search(r"(?<!\w)/(?!tmp/|dev/)\w[\w.-]*/|\b(?:s3|gs|az|hdfs)://", found.string)
        else Reading()
    ),
)
DATA.add(
    "slow_loader",
    ROOT,
    ("data loading took", "slow dataloader", "dataloader took", "waited for data"),
    r"(?:data loading|dataloader|slow dataloader|waited for data).{0,40}?"
    r"(?P<waited_s>\d{1,9}(?:\.\d{1,9})?) ?s(?:ec|econds)?\b",
    ("step 120: data loading took 312.4 s", "WARNING: Slow dataloader: batch took 61.2s"),
    ("data loading took 0.4 s",),
    "trainers that time their input",
    category=STALL,
    also=(Category.STORAGE,),
    weak=True,
    read=slow,
)
DATA.add(
    "main_process_first",
    CONSEQUENCE,
    ("main_process_first(", "in main_process_first", "in local_main_process_first"),
    r"with .{0,80}main_process_first\(|, line \d{1,6}, in (?:local_)?main_process_first",
    (
        '    with training_args.main_process_first(desc="map"):',
        '  File "/x/training_args.py", line 2012, in main_process_first',
    ),
    ("def main_process_first(self):",),
    "transformers, accelerate: a frame of a traceback",
    category=STALL,
    also=(Category.NCCL_TIMEOUT,),
    blame=Blame.PEER,
    read=lambda _found, _after: Reading(peer="rank 0"),
)
DATA.add(
    "preprocessing_bar",
    NOISE,
    (
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
    r"(?P<stage>Running tokenizer on [\w ]{1,40}|Tokenizing[\w ()=]{0,60}|Grouping texts[\w ]{0,40}"
    r"|Preprocessing dataset[\w ]{0,40}|(?:Map|Filter)(?: \(num_proc=\d{1,4}\))?"
    r"|Generating \w{1,20} split|Converting format of [\w ]{1,40})(?: \(num_proc=\d{1,4}\))?: {1,4}"
    r"(?P<percent>\d{1,3})%",
    (
        "Running tokenizer on dataset:   9%|#8  | 338973/9758753 [29:55<4:48:08, 155.5 examples/s]",
        "Map (num_proc=8):  41%|####1 | 4100/10000 [00:02<00:03, 1811.10 examples/s]",
        "Grouping texts in chunks of 2048:   8%|8 | 4344/53867 [02:32<30:38, 486.01 examples/s]",
    ),
    ("Map: rank 0 -> n0",),
    "datasets: map and filter",
    category=STALL,
)
DATA.add(
    "index_build",
    NOISE,
    ("building the indices on rank 0", "building indices on rank 0", "building dataset index"),
    r"building (?:the )?(?:dataset )?ind(?:ices|ex)(?: on rank (?P<builder>\d{1,7}))?",
    ("> WARNING: could not find index map files, building the indices on rank 0 ...",),
    ("building the model on rank 0",),
    "Megatron-LM: data/gpt_dataset.py",
    category=STALL,
)

SIGNATURES = DATA.signatures()
