"""Symptoms: what was seen first where no cause is known, in words and with its place."""

from triage.domain.counts import count
from triage.domain.next_step import Symptom
from triage.domain.report import iso_utc
from triage.render.words.clean import one_line

__all__ = ["symptom_facts", "symptom_place", "symptom_sentence"]


def symptom_facts(one: Symptom) -> str:
    """``rank 0, a1, ALLREDUCE, number 912, default_pg, 4 ranks say it``; empty where its text is
    all that is known.
    """
    facts = [] if one.rank is None else [f"rank {one.rank}"]
    facts += [one_line(one.node, 120)] if one.node is not None else []
    facts += [one_line(one.op, 32)] if one.op is not None else []
    facts += [f"number {one.seq_id}"] if one.seq_id is not None else []
    facts += [one_line(one.pg, 40)] if one.pg is not None else []
    facts += [f"{count(one.num_ranks, 'rank')} say it"] if one.num_ranks > 1 else []
    return ", ".join(facts)


def symptom_place(one: Symptom) -> str:
    """``job.log:3 at 2026-12-06T18:44:11Z``; empty where no file says it."""
    if one.artifact is None:
        return ""
    line = f":{one.line}" if one.line else ""
    when = "" if one.at is None else f" at {iso_utc(one.at)}"
    return f"{one_line(one.artifact, 400)}{line}{when}"


def symptom_sentence(one: Symptom) -> str:
    """All of it in one sentence: ``FACTS: TEXT (PLACE)``."""
    facts, place = symptom_facts(one), symptom_place(one)
    head, tail = f"{facts}: " if facts else "", f" ({place})" if place else ""
    return f"{head}{one_line(one.text, 400)}{tail}"
