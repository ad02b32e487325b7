"""What was seen first, in words: what is not known is left out."""

from datetime import UTC, datetime

import pytest

from triage.domain.next_step import Symptom
from triage.render.words.answer import (
    describe_symptom,
    describe_symptom_facts,
    describe_symptom_place,
)

AT = datetime(2026, 12, 6, 18, 44, 11, tzinfo=UTC)
WHOLE = Symptom("it timed out", 0, "a1", "ALLREDUCE", 912, "default_pg", 4, "job.log", 3, AT)
WORDS = "rank 0, a1, ALLREDUCE, number 912, default_pg, 4 ranks say it"
PLACE = "job.log:3 at 2026-12-06T18:44:11.000Z"


@pytest.mark.parametrize(
    ("symptom", "facts", "place", "sentence"),
    [
        (WHOLE, WORDS, PLACE, f"{WORDS}: it timed out ({PLACE})"),
        (Symptom("closed"), "", "", "closed"),
        (Symptom("closed", rank=0, num_ranks=1), "rank 0", "", "rank 0: closed"),
        (Symptom("closed", artifact="fr/rank_3"), "", "fr/rank_3", "closed (fr/rank_3)"),
        (Symptom("a\x1b[2J\nb", node="n\u202e"), "n\\u202e", "", "n\\u202e: a\\x1b[2J b"),
    ],
)
def test_a_symptom_in_words(symptom: Symptom, facts: str, place: str, sentence: str) -> None:
    assert describe_symptom_facts(symptom) == facts
    assert describe_symptom_place(symptom) == place
    assert describe_symptom(symptom) == sentence
