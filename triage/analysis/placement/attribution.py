"""Whose each line is: its node, rank and GPU, from the part of them that it carries.

A prefix, a task's label, a process number, a GPU's address, the file it stands in, and the host
whose name a collector put in front of it; held against who sits where (`identity.py`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from triage.analysis.placement.gpu_names import JOINED, GpuNames, collect_gpu_names
from triage.analysis.placement.host_names import NamesInPaths
from triage.analysis.placement.identity import (
    JobPlacement,
    has_printed_host,
    is_about_another,
    parse_small_number,
    with_worker_fields,
)
from triage.domain.category import OF_THE_NODE
from triage.domain.evidence import (
    ACTOR,
    BY_FILE,
    BY_PEOPLE,
    BY_RANK,
    HOST_AMONG_SEVERAL,
    KERNEL_KINDS,
    OF_A_PROGRAM,
    OWN_RANK,
    Blame,
    Evidence,
    Kind,
    Trait,
)
from triage.domain.hosts import make_natural_key
from triage.domain.patterns import compile_re
from triage.signatures.gpu.gpu_names import NAMES


def attribute(evidence: Iterable[Evidence], fleet: JobPlacement) -> list[Evidence]:
    """Rows with the node, rank and GPU that follow from the part they carry.

    A line without any prefix in the file of one rank is that rank's.
    """
    known = {*fleet.nodes, *fleet.seated}
    evidence = list(evidence)
    by_host = {
        row.artifact
        for row in evidence
        if HOST_AMONG_SEVERAL in row.fields
        and fleet.node_of_address(row.node or "") in fleet.seated
    }
    rows = [
        _place_by_first_word(_of_a_known_host(row, fleet, by_host), fleet, known)
        for row in evidence
    ]
    homes = NamesInPaths(fleet.seated or fleet.nodes)
    speaking = _collect_speaking_nodes(rows, fleet)
    rows = [_place_by_file(row, fleet, homes) for row in rows]
    rows = [_with_node_of_file(row, fleet, homes.of(row.artifact), speaking) for row in rows]
    launchers = _map_node_labels(rows, fleet, NamesInPaths(fleet.nodes))
    rows = [_replace_label(row, launchers) for row in rows]
    names = collect_gpu_names(
        (fleet.node_of_address(row.node or "") or row.node, row) for row in rows
    )
    speakers = _map_speakers_to_nodes(rows, fleet)
    rows = [_attribute_row(_with_gpu(row, names, fleet), fleet, speakers) for row in rows]
    owners = _find_file_owners(rows, fleet)
    rows = [_place_at_only_node(row, fleet) for row in rows]
    return [
        _place_at_node(replace(row, rank=owner), row.node or fleet.node_of(owner))
        if row.rank is None
        and OF_A_PROGRAM not in row.fields
        and row.gpu is None
        and row.kind in _OF_PROCESSES
        and (owner := owners.get(row.artifact)) is not None
        else row
        for row in rows
    ]


def _of_a_known_host(row: Evidence, fleet: JobPlacement, by_host: Set[str]) -> Evidence:
    """A process's line without the name that a collector put before it, where it is none of the
    job's nodes and one of several: it is that of a pod, or another name of a node. In the files
    ``by_host``, where nodes of the job stand beside it, it is another machine.
    """
    named = row.node is not None and HOST_AMONG_SEVERAL in row.fields
    of_a_process = row.kind in _OF_PROCESSES or row.fields.get("printed_by") == row.node
    if not named or not fleet.seated or not of_a_process:
        return row
    if is_about_another(row) or has_printed_host(row):
        return row
    if fleet.node_of_address(row.node or "") in fleet.seated:
        return row
    is_machine = row.kind in KERNEL_KINDS and row.artifact in by_host
    is_machine |= fleet.is_called_alike(row.node or "")
    return row if is_machine else replace(row, node=None)


# "[cn-101:1] ", "(cn-101) ", "cn-101: 9: ", "rank=9 host=cn-101 ": marks of launchers and shells.
_FIRST_NAME: Final = compile_re(
    r"(?:[\W\d]|\b(?:rank|host|hostname|node|worker|task|local_rank)\b){0,40}"
    r"(?P<name>(?P<host>[A-Za-z][\w.-]{0,252}?)(?:-\d{1,5})?)(?=[^\w.-]|\.?\s|$)",
    re.IGNORECASE,
)
# "[epilog cn-101] ", "1772234653.800 [dcgmi diag cn-101] ": scripts that run on a node.
_TAG: Final = compile_re(r"[\d. ]{0,40}\[(?P<words>[\w. -]{1,300})\]")


def _place_by_first_word(row: Evidence, fleet: JobPlacement, known: Set[str]) -> Evidence:
    """A line of a process, or one that nothing else places, that begins with the name of a node of
    the job, one of ``known``, as that node's, whatever prints the names and in whichever file; what
    no process says and nothing else places, at the one node that it names.
    """
    placed = row.node is not None and (BY_FILE not in row.fields or row.kind not in _OF_PROCESSES)
    if placed or is_about_another(row) or row.rank is not None:
        return row
    found, tag = _FIRST_NAME.match(row.text), _TAG.match(row.text)
    words = [*found.group("name", "host")] if found is not None else []
    words += tag["words"].split() if tag is not None else []
    names = (fleet.find_named_node(word) for word in words)
    node = next((one for one in names if one in known), None)
    if node is None and row.node is None and row.blame is Blame.SELF and row.peer is None:
        by_process = row.kind in _OF_PROCESSES and BY_PEOPLE not in row.fields
        node = fleet.find_only_named_node(row.text) if not by_process else None
        node = node if node in known else None
        asked = node is None and not by_process
        sister = fleet.find_sister(row.text) if asked else None
        if sister is not None:
            return replace(row, node=sister, traits=row.traits | {Trait.NOT_THE_JOB})
    return row if node is None else replace(_drop_file_node(row), node=node)


def _collect_speaking_nodes(rows: Iterable[Evidence], fleet: JobPlacement) -> dict[str, set[str]]:
    """Artifact -> the nodes of the job whose hosts or ranks speak in it."""
    speaking: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        by_file = BY_FILE in row.fields
        node = fleet.node_of_address(row.node) if row.node is not None and not by_file else None
        if node is None and row.rank is not None:
            node = fleet.node_of(row.rank)
        if node in fleet.seated and "said_of" not in row.fields:
            speaking[row.artifact].add(node or "")
    return speaking


def _with_node_of_file(
    row: Evidence, fleet: JobPlacement, home: str | None, speaking: Mapping[str, set[str]]
) -> Evidence:
    """A row with the node whose name its file bears, where nobody of another node speaks in it;
    without that node where somebody does, unless a kernel says it. A line that speaks of another
    node than the one that prints it stays with the node it speaks of.
    """
    if is_about_another(row):
        return row
    others = speaking.get(row.artifact, set())
    if BY_FILE in row.fields and row.node is not None:
        own = fleet.node_of_address(row.node) or row.node
        address = row.fields.get("address") if ACTOR in row.fields else None
        if address is not None and fleet.node_of_address(address) != own:
            return _drop_file_node(row)  # a driver prints the address of another machine's process
        is_alone = others <= {own} and row.artifact not in fleet.gathered
        if is_alone or row.kind in KERNEL_KINDS:
            return row
        return _drop_file_node(row)
    is_known = row.node is not None and fleet.node_of_address(row.node) in fleet.seated
    if is_known or HOST_AMONG_SEVERAL in row.fields or home is None or not others <= {home}:
        return row
    return replace(row, node=home)


def _drop_file_node(row: Evidence) -> Evidence:
    """A row of a file that is nobody's: its own rank, host or process may say whose it is."""
    fields = {name: value for name, value in row.fields.items() if name != BY_FILE}
    return replace(row, node=None, fields=fields)


def _place_by_file(row: Evidence, fleet: JobPlacement, homes: NamesInPaths) -> Evidence:
    """A monitor's reading is of the node whose file it is in, whichever label its launcher gave."""
    by_file = BY_FILE in row.fields
    if row.kind is not Kind.THERMAL or row.rank is None or (row.node is not None and not by_file):
        return row
    home = fleet.node_of_address(row.node) if row.node is not None else homes.of(row.artifact)
    if home is None or fleet.node_of(row.rank) in (None, home):
        return row
    return replace(row, node=home, rank=None)


def _map_node_labels(
    rows: Iterable[Evidence], fleet: JobPlacement, paths: NamesInPaths
) -> dict[str, dict[int, str]]:
    """Artifact -> label -> node, for logs whose task labels number nodes and not ranks.

    One launcher a node makes as many tasks as nodes; a rank's own prefix behind the
    label, or an agent's line with one, tells it from one task a rank. The labels of a log in a
    node's folder that are all ranks of that node are ranks.
    """
    labels_of: dict[str, set[int]] = defaultdict(set)
    homes: dict[str, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    agents: set[str] = set()
    of_nodes: set[str] = set()
    for row in rows:
        task = parse_small_number(row.fields.get("task"))
        if task is None:
            continue
        labels_of[row.artifact].add(task)
        if row.kind is Kind.ELASTIC:
            agents.add(row.artifact)
        home = _find_printed_node(row, task, fleet)
        if home is not None:
            homes[row.artifact][task][home] += 1
            if row.rank is not None and row.rank != task:
                of_nodes.add(row.artifact)
    by_artifact: dict[str, dict[int, str]] = {}
    # By their lowest rank, as a launcher numbers them.
    nodes = list(dict.fromkeys(node for _, node in sorted(fleet.node_by_rank.items())))
    for artifact in sorted(agents | of_nodes):
        if max(labels_of[artifact]) >= len(nodes):
            continue  # more tasks than nodes: one task a rank
        home = paths.of(artifact)
        if home is not None and {fleet.node_of(rank) for rank in labels_of[artifact]} == {home}:
            continue
        labels = {task: seen.most_common(1)[0][0] for task, seen in homes[artifact].items()}
        by_artifact[artifact] = (
            _map_labels_in_order(labels, nodes) if artifact in agents else labels
        )
    return by_artifact


def _find_printed_node(row: Evidence, task: int, fleet: JobPlacement) -> str | None:
    """The node that a line behind a label was printed on, where it names its host or its rank.

    NCCL's own lines name their host; their ranks are those of any communicator.
    """
    if has_printed_host(row) and row.node is not None:
        return fleet.node_of_address(row.node)
    if row.signature == JOINED or row.rank is None or row.rank == task:
        return None
    return fleet.node_of(row.rank)


def _map_labels_in_order(labels: Mapping[int, str], nodes: Sequence[str]) -> dict[int, str]:
    """Label -> node: ``labels``, and the others in an order of nodes that agrees with it.

    Launchers count nodes by their ranks or, as Slurm does, by their names.
    """
    for order in (nodes, sorted(nodes, key=make_natural_key)):
        numbered = dict(enumerate(order))
        if all(numbered.get(task) == node for task, node in labels.items()):
            return numbered
    return dict(labels)


def _replace_label(row: Evidence, launchers: Mapping[str, Mapping[int, str]]) -> Evidence:
    """A row whose rank is only the label of its node's launcher, as that node's; a rank that its
    text repeats is its own.
    """
    task = parse_small_number(row.fields.get("task"))
    labels = launchers.get(row.artifact)
    if task is None or labels is None or row.rank != task or OWN_RANK in row.fields:
        return row
    return replace(row, rank=None, node=labels.get(task, row.node))


# What a process prints itself; an agent's or a kernel's line is not a rank's.
_OF_PROCESSES: Final = frozenset(
    {
        Kind.NCCL,
        Kind.CUDA,
        Kind.PYTHON,
        Kind.NUMERICS,
        Kind.DATA,
        Kind.DEPENDENCY,
        Kind.STORAGE,
        Kind.PROGRESS,
        Kind.OOM,
    }
)
# rank62.log, rank_3.out, stdout.13.log, worker-5.err
_OF_RANK = compile_re(
    r"(?:^|[/_.-])(?P<word>rank|global_rank|local_rank|stdout|stderr|worker|task)[._-]?"
    r"(?P<number>\d{1,7})(?=[._-]|$)",
    re.IGNORECASE,
)
# <log dir>/<run>/attempt_0/3/stderr.log, as torchrun writes with --log-dir
_OF_LOCAL_RANK = compile_re(r"/attempt_\d{1,4}/(?P<number>\d{1,4})/[^/]{1,64}$")


def _find_file_owners(rows: Iterable[Evidence], fleet: JobPlacement) -> dict[str, int]:
    """Artifact -> the one rank whose file it is, where its name or its identity lines say so."""
    ranks: dict[str, set[int]] = defaultdict(set)
    nodes: dict[str, str] = {}
    with_identity: set[str] = set()
    for row in rows:
        ranks[row.artifact] |= set() if row.rank is None else {row.rank}
        if row.node is not None:
            nodes.setdefault(row.artifact, row.node)
        if row.signature == JOINED and row.rank is not None:
            with_identity.add(row.artifact)
    owners: dict[str, int] = {}
    for artifact, printed in ranks.items():
        named = _rank_of_name(artifact, nodes.get(artifact), fleet)
        if len(printed) == 1:
            (only,) = printed
            if artifact in with_identity or only == named or fleet.local_by_rank.get(only) == named:
                owners[artifact] = only
        elif not printed and named is not None and named < (fleet.world_size or 1 << 30):
            owners[artifact] = named
    return owners


def _rank_of_name(artifact: str, node: str | None, fleet: JobPlacement) -> int | None:
    """The rank that the name of a job log claims; None where it is none."""
    local = _OF_LOCAL_RANK.search(artifact)
    if local is not None:
        return fleet.rank_of_local(node, int(local["number"])) if node is not None else None
    match = _OF_RANK.search(artifact.rpartition("/")[2])
    if match is None:
        return None
    number = int(match["number"])
    if match["word"].lower() == "local_rank":
        return fleet.rank_of_local(node, number) if node is not None else None
    if node is not None and fleet.node_of(number) not in (node, None):
        # The number counts on the node.
        return fleet.rank_of_local(node, number)
    return number


def _with_gpu(row: Evidence, names: GpuNames, fleet: JobPlacement) -> Evidence:
    """A row with the address of the GPU that it names otherwise, where that is known.

    The number of nvidia-smi alone is a local rank where nothing says otherwise.
    """
    if row.gpu is not None or not any(name in row.fields for name in NAMES):
        return row
    uuid = row.fields.get("gpu_uuid")
    node = row.node
    if node is None and row.rank is None and uuid is not None:
        node = names.home_of(("gpu_uuid", uuid))
    if node is None:
        return row
    gpu = names.gpu_of(row, fleet.node_of_address(node) or node)
    if gpu is not None:
        return replace(row, node=node, gpu=gpu)
    index = parse_small_number(row.fields.get("gpu_index"))
    if index is not None and row.cuda_device is None and "gpu_uuid" not in row.fields:
        return replace(row, node=node, cuda_device=index)
    return row if node == row.node else replace(row, node=node)


# "q9n14 task 158 E ...", "[gpu-17] ...", "gpu-17: ..."
_FIRST_WORD = compile_re(r"\[?([A-Za-z][\w.-]{1,252})(?:\]|:| {1,40}\|)? ")


def _map_speakers_to_nodes(rows: Iterable[Evidence], fleet: JobPlacement) -> dict[str, str]:
    """Name in front of lines, as of a pod, -> the one node that NCCL names behind it."""
    homes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        name = row.fields.get("printed_by")
        if name is not None and row.node is not None and has_printed_host(row):
            homes[name].add(fleet.node_of_address(row.node) or row.node)
    return {name: home for name, (home, *others) in homes.items() if not others}


def _find_process_node(
    row: Evidence, fleet: JobPlacement, speakers: Mapping[str, str]
) -> str | None:
    """The node of a process by the address that Ray prints, or by the name in front of its line,
    where that is a node of the job, or NCCL's lines behind it name one.
    """
    if row.fields.get("printed_by") in speakers:
        return speakers[row.fields["printed_by"]]
    if "address" in row.fields:
        return fleet.node_of_address(row.fields["address"])
    first = _FIRST_WORD.match(row.text)
    for name in (row.fields.get("printed_by"), first[1] if first is not None else None):
        node = fleet.node_of_address(name) if name is not None else None
        if node is not None and (node in fleet.seated or not fleet.seated):
            return node
    return None


def _attribute_row(row: Evidence, fleet: JobPlacement, speakers: Mapping[str, str]) -> Evidence:
    row = with_worker_fields(row)
    node, rank, gpu = row.node, row.rank, row.gpu
    if node is not None:
        node = fleet.node_of_address(node) or node
    elif (row.kind in _OF_PROCESSES or "address" in row.fields) and not is_about_another(row):
        node = _find_process_node(row, fleet, speakers)
    if row.signature == JOINED and row.fields.get("nranks") != str(fleet.world_size):
        rank = None
    if rank is not None and fleet.world_size is not None and rank >= fleet.world_size:
        rank = None
    if rank is None and node is not None:
        rank = _rank_at(row, node, gpu, fleet)
    row = replace(row, rank=rank, gpu=gpu) if (rank, gpu) != (row.rank, row.gpu) else row
    home = fleet.node_of(rank) if rank is not None else None
    printed = has_printed_host(row)
    if rank is not None and (
        node is None
        or (
            # It carries the name of who wrote or gathered it.
            home not in (None, node)
            and not (is_about_another(row) or printed or row.kind is Kind.THERMAL)
        )
    ):
        return _place_at_node(row, home or node)
    if home not in (None, node) and not is_about_another(row) and printed:
        # A number of another program, or of an earlier start: the host is what it is.
        own = _rank_at(row, node or "", gpu, fleet)
        rank = own if own is not None and fleet.node_of(own) == node else None
    return row if (node, rank) == (row.node, row.rank) else replace(row, node=node, rank=rank)


def _rank_at(row: Evidence, node: str, gpu: str | None, fleet: JobPlacement) -> int | None:
    """The rank on a node that a row means by its GPU, its local rank, its process or its device."""
    found = fleet.rank_of_gpu(node, gpu) if gpu is not None else None
    if found is None and row.local_rank is not None:
        found = fleet.rank_of_local(node, row.local_rank)
    if found is None and row.pid is not None:
        found = fleet.rank_of_pid(node, row.pid)
    if found is None and row.cuda_device is not None:
        found = fleet.rank_of_local(node, row.cuda_device)
    return found


def _place_at_only_node(row: Evidence, fleet: JobPlacement) -> Evidence:
    """What is said of a process or a part of a job of one node and nothing places, there."""
    if fleet.only_node is None or row.node is not None or is_about_another(row):
        return row
    if row.kind not in {*_OF_PROCESSES, Kind.ELASTIC} and row.category not in OF_THE_NODE:
        return row
    rank = row.rank
    if rank is None and row.local_rank is not None:
        rank = fleet.rank_of_local(fleet.only_node, row.local_rank)
    return replace(row, node=fleet.only_node, rank=rank)


def _place_at_node(row: Evidence, node: str | None) -> Evidence:
    """``row`` at the node on which its rank is said to sit."""
    if node == row.node:
        return row
    return replace(row, node=node, fields={**row.fields, BY_RANK: "1"})
