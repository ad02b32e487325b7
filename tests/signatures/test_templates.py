"""Templates of all lines: what joins, bounds, and independence of order."""

import random

from triage.signatures.templates import build_templates, count_templates

MARK = b"\x01"


def test_texts_that_differ_in_few_words_are_one_template() -> None:
    masks = {b"node alpha lost link " + MARK, b"node alpha lost power " + MARK, b"boot ends"}
    named = build_templates(masks)
    assert {one.text for one in named.values()} == {"node alpha lost <*> <*>", "boot ends"}


def test_texts_of_other_words_stay_apart() -> None:
    named = build_templates({b"a b c d e", b"a b x y z"})
    assert len({one.id for one in named.values()}) == 2


def test_the_order_of_texts_does_not_matter() -> None:
    rng = random.Random(2)
    masks = [
        " ".join(rng.choice("abcd") * 3 for _ in range(rng.randrange(1, 9))).encode()
        for _ in range(300)
    ]
    first = build_templates(dict.fromkeys(masks))
    rng.shuffle(masks)
    assert build_templates(dict.fromkeys(masks)) == first


def test_a_template_has_one_id_in_every_incident() -> None:
    (alone,) = build_templates({b"boot ends at " + MARK}).values()
    among = build_templates({b"boot ends at " + MARK, b"other"})[b"boot ends at " + MARK]
    assert alone == among


def test_counts_of_masks_of_one_template_are_added() -> None:
    named = build_templates({b"link x is up now", b"link x is down now"})
    (count,) = count_templates(
        [(b"link x is up now", 3, 9, 20), (b"link x is down now", 2, 4, 6)], named
    )
    assert (count.count, count.first_line, count.last_line) == (5, 4, 20)


def test_many_shapes_stay_bounded() -> None:
    masks = {f"same start {k:x} {k * 7:x} {k * 13:x} {k * 17:x}".encode() for k in range(3000)}
    named = build_templates(masks)
    assert len({one.id for one in named.values()}) <= 201
    assert len(named) == 3000
