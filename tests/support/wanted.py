"""What is wanted of the answer to an incident whose answer was wrong once: ``wanted.json``.

===============  ==================================================================
``why``          one sentence: what a careful engineer reads out of the folder
``kinds``        the verdict's kind is one of these
``categories``   and its category; ``category_open``: any, where nobody is blamed
``nodes``        the first suspect is one of these nodes, or sits on it by the map
``ranks``        the first suspect holds one of these ranks
``only``         no other node than these is convicted
``nobody``       ``convicted``: no suspect is a culprit; ``allowed``: ``nodes`` and
                 ``ranks`` are asked only where somebody is; ``open``: not asked
``cordon``       at most these nodes are taken out; absent: none
``sound``        nodes, and ranks as ``rank:N``, of which none is a culprit
``role``         the role of the first suspect
``named``        ranks that are among the suspects; ``not_named`` are not
``actions``      the verdict's action is one of these
``reason``       one of these words stands in the summary or the first reasons
``not_said``     words that stand nowhere in the report, nor in its text form
``at``           what ``verdict.at`` begins with
===============  ==================================================================
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Wanted:
    """The content of one ``wanted.json``; the module says what each key asks for."""

    why: str
    kinds: tuple[str, ...]
    categories: tuple[str, ...] = ()
    category_open: bool = False
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    only: tuple[str, ...] | None = None
    nobody: str = ""
    cordon: tuple[str, ...] = ()
    sound: tuple[str, ...] = ()
    role: str = ""
    named: tuple[int, ...] = ()
    not_named: tuple[int, ...] = ()
    actions: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    not_said: tuple[str, ...] = ()
    at: str = ""
    job: dict[str, Any] = field(default_factory=dict)


def load_wanted(folder: Path) -> Wanted:
    """What ``folder`` wants; its ``files/job.json`` says on which node a rank sits."""
    text = (folder / "wanted.json").read_text("utf-8")
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in json.loads(text).items()}
    job_file = folder / "files" / "job.json"
    job = json.loads(job_file.read_text("utf-8")) if job_file.is_file() else {}
    return Wanted(**values, job=job)


def find_faults(wanted: Wanted, report: dict[str, Any], text: str) -> list[str]:
    """Each thing of an answer that is not as wanted, as ``what: found``; none for a right one.

    ``report`` is its JSON form, ``text`` what the command prints.
    """
    verdict, suspects = report["verdict"], report["suspects"]
    culprits = [one for one in suspects if one["role"] == "culprit"]
    faults = []
    if verdict["kind"] not in wanted.kinds:
        faults.append(f"kind: {verdict['kind']}")
    blameless = verdict["category"] in ("none", "nccl_timeout") or verdict["kind"] == "inconclusive"
    free = not wanted.categories or (wanted.category_open and blameless)
    if verdict["category"] not in wanted.categories and not free:
        faults.append(f"category: {verdict['category']}")
    if wanted.actions and verdict["action"] not in wanted.actions:
        faults.append(f"action: {verdict['action']}")
    if not (verdict["at"] or "").startswith(wanted.at):
        faults.append(f"at: {verdict['at']}")
    if beyond := [node for node in verdict["cordon"] if short(node) not in shorts(wanted.cordon)]:
        faults.append(f"cordon: {beyond}")
    faults += find_faults_of_place(wanted, suspects, culprits)
    faults += find_faults_of_words(wanted, report, text)
    return faults


def find_faults_of_place(
    wanted: Wanted, suspects: list[dict[str, Any]], culprits: list[dict[str, Any]]
) -> Iterator[str]:
    named = {rank for one in suspects for rank in one["ranks"]}
    if missed := set(wanted.named) - named:
        yield f"not named: {sorted(missed)}"
    if named & set(wanted.not_named):
        yield f"named: {sorted(named & set(wanted.not_named))}"
    if wanted.nobody == "convicted" and culprits:
        yield f"convicted: {[places(one, wanted.job) for one in culprits]}"
    for one in culprits:
        where = places(one, wanted.job)
        known = {*where, *(f"rank:{rank}" for rank in one["ranks"])}
        if shorts(wanted.sound) & known:
            yield f"innocent: {where} {one['ranks'][:4]}"
        if wanted.only is not None and not set(where) <= shorts(wanted.only):
            yield f"innocent: {where}"
    if wanted.nobody in ("convicted", "open") or (wanted.nobody == "allowed" and not culprits):
        return
    first = suspects[0] if suspects else None
    if first is None:
        yield "named: nobody"
        return
    if wanted.nodes and not shorts(wanted.nodes) & set(places(first, wanted.job)[:1]):
        yield f"node: {places(first, wanted.job)}"
    if wanted.ranks and not set(wanted.ranks) & set(first["ranks"]):
        yield f"ranks: {first['ranks'][:4]}"
    if wanted.role and first["role"] != wanted.role:
        yield f"role: {first['role']} {first['score']:.2f}"


def find_faults_of_words(wanted: Wanted, report: dict[str, Any], text: str) -> Iterator[str]:
    said = " ".join(f"{json.dumps(report, ensure_ascii=False)} {text}".split()).lower()
    if false := [words for words in wanted.not_said if words.lower() in said]:
        yield f"said: {false}"
    first = report["suspects"][:1]
    reasons = " ".join(
        [report["verdict"]["summary"], *(why["text"] for one in first for why in one["because"])]
    ).lower()
    if wanted.reason and not any(word.lower() in reasons for word in wanted.reason):
        yield f"reason: none of {wanted.reason}"


def short(node: str) -> str:
    return node.split(".", maxsplit=1)[0].lower()


def shorts(nodes: tuple[str, ...]) -> set[str]:
    return {node if node.startswith("rank:") else short(node) for node in nodes}


def places(suspect: dict[str, Any], job: dict[str, Any]) -> list[str]:
    """The nodes that a suspect accuses: its own, else those on which its ranks sit."""
    if suspect["node"]:
        return [short(suspect["node"])]
    found = (node_by_map(rank, job) for rank in suspect["ranks"])
    return list(dict.fromkeys(node for node in found if node))


def node_by_map(rank: int, job: dict[str, Any]) -> str | None:
    placed = job.get("rank_to_node") or {}
    if str(rank) in placed:
        return short(placed[str(rank)])
    nodes, per_node = job.get("nodes"), job.get("gpus_per_node")
    if nodes and per_node and rank // per_node < len(nodes):
        return short(nodes[rank // per_node])
    return None
