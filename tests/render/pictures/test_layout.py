"""Layout and graph: boxes that do not overlap, culprits first, cycles drawn."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.render import answers
from triage.domain.report import WaitEdge, WaitNode, Waits
from triage.render.pictures import graph
from triage.render.pictures.layout import BOX_HEIGHT, BOX_WIDTH, place

KEYS = [f"k{i}" for i in range(12)]
EDGES = st.lists(
    st.builds(WaitEdge, st.sampled_from([*KEYS, "nowhere"]), st.sampled_from(KEYS), st.just(1)),
    max_size=40,
)


def edges(*pairs):
    return [WaitEdge(source, target, 1) for source, target in pairs]


def test_what_is_waited_for_stands_first():
    placed = place(["a", "b", "c"], edges(("a", "b"), ("b", "c")))
    assert placed.corners["c"][0] < placed.corners["b"][0] < placed.corners["a"][0]
    assert not placed.upward


def test_an_arrow_that_skips_a_layer_gets_a_lane():
    placed = place(["a", "b", "c"], edges(("a", "b"), ("b", "c"), ("a", "c")))
    ((x, y),) = placed.lanes["a", "c"]
    assert x == placed.corners["b"][0]
    top = placed.corners["b"][1]
    assert not top <= y <= top + BOX_HEIGHT


def test_a_long_chain_runs_upward():
    keys = [f"s{i}" for i in range(9)]
    placed = place(keys, edges(*pairwise(keys)))
    assert placed.upward
    assert placed.corners["s8"][1] < placed.corners["s0"][1]


@given(EDGES)
def test_boxes_never_overlap_and_stay_on_the_picture(waits):
    placed = place(KEYS, waits)
    assert set(placed.corners) == set(KEYS)
    for (ax, ay), (bx, by) in combinations(placed.corners.values(), 2):
        assert abs(ax - bx) >= BOX_WIDTH or abs(ay - by) >= BOX_HEIGHT
    for x, y in placed.corners.values():
        assert x >= 0
        assert y >= 0
        assert x + BOX_WIDTH <= placed.width
        assert y + BOX_HEIGHT <= placed.height


@given(EDGES)
def test_any_graph_is_drawn(waits):
    nodes = tuple(WaitNode(key, "collective", key, "", (1,)) for key in KEYS)
    svg = graph.as_svg(Waits(nodes, tuple(waits)))
    drawn = [e for e in waits if e.source in KEYS and e.source != e.target]
    assert svg.count('class="wait"') == len(drawn)


def test_the_same_graph_gives_the_same_picture():
    assert graph.as_svg(answers.culprit().waits) == graph.as_svg(answers.culprit().waits)


def test_a_deadlock_by_order_shows_both_arrows():
    assert graph.as_svg(answers.tie().waits).count('class="wait"') == 2


def test_a_culprit_is_told_by_its_word():
    assert "CULPRIT rank 27" in graph.as_svg(answers.culprit().waits)


def test_too_many_boxes_keep_the_culprits_and_count_the_rest():
    crowd = [WaitNode(str(i), "collective", "", "", (i,)) for i in range(100)]
    crowd.append(WaitNode("c", "culprit", "", "", (100,)))
    shown, omitted = graph.select_boxes(Waits(tuple(crowd), (), 5))
    assert len(shown) == graph.MAX_BOXES
    assert shown[-1].key == "c"
    assert omitted == 5 + 41
