"""History: a standing tells equals apart, and can do nothing else."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tests.support.weighing import NODES, STOP, Placement, claim, of, row, watchdog
from triage.analysis.answer import build_answer, weigh_incident
from triage.analysis.facts.part import list_named_parts
from triage.analysis.facts.stop import Stop
from triage.analysis.joining.belief import Belief
from triage.analysis.joining.history import DETECTOR, order_by_history, with_history
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.join import join
from triage.analysis.joining.model import load_model
from triage.analysis.joining.place import AtNode, AtRank
from triage.analysis.joining.sources import Sources
from triage.analysis.placement.topology import JobTopology
from triage.domain.category import Action, Category, Role
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.domain.job import Job, make_job
from triage.domain.report import Suspect
from triage.domain.standing import Grade, Prior, Standing, read_prior
from triage.fleet.standings.words import make_prior
from triage.formats.gather import gather
from triage.parsers.files.job_file import JobFile, fill_facts
from triage.signatures.registry import match

INCIDENTS = Path(__file__).parents[1] / "incidents"
LEMON = Prior(Grade.LEMON, "before this incident the node was a lemon: 5 interruptions")
WATCH = Prior(Grade.WATCH, "before this incident the node was under watch")


def fused(*rows, standings=None, findings=(), stop=STOP):
    topology = JobTopology(Placement(), NODES, {})
    return join(
        Sources(None, findings, rows), topology, stop, load_model(), standings or {}
    ).decision


def nodes(decision):
    return [one.node for one in decision.suspects]


PAIR = [
    of(Category.NETWORK, Kind.NCCL, one, peer=other, blame=Blame.PAIR)
    for one, other in (("n1", "n2"), ("n2", "n1"))
]
WAITING = [watchdog(rank) for rank in range(24)]


def test_without_standings_the_first_by_name_stands_first():
    assert nodes(fused(*PAIR, *WAITING)) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("standings", "wanted"),
    [
        ({"n2": LEMON}, ["n2", "n1"]),
        ({"n2": WATCH}, ["n2", "n1"]),
        ({"n1": WATCH, "n2": LEMON}, ["n2", "n1"]),
        ({"n1": LEMON, "n2": WATCH}, ["n1", "n2"]),
        ({"n1": LEMON, "n2": LEMON}, ["n1", "n2"]),
        ({"n7": LEMON}, ["n1", "n2"]),
        ({"n2": Prior(Grade.NORMAL, "as others")}, ["n1", "n2"]),
    ],
    ids=[
        "a lemon", "a watched node", "a lemon before a watched one", "in the order they were",
        "both alike", "somebody who is not named", "a normal one",
    ],
)  # fmt: skip
def test_of_a_pair_whoever_was_in_trouble_before_stands_first(standings, wanted):
    plain, told = fused(*PAIR, *WAITING), fused(*PAIR, *WAITING, standings=standings)

    assert nodes(told) == wanted
    assert [one.score for one in told.suspects] == [one.score for one in plain.suspects]
    assert {one.role for one in told.suspects} == {Role.POSSIBLE}
    assert (told.verdict.category, told.verdict.confidence, told.verdict.cordon) == (
        plain.verdict.category, plain.verdict.confidence, ()
    )  # fmt: skip


@pytest.mark.parametrize("weak", [True, False], ids=["possible", "convicted"])
def test_of_two_that_fail_alike_the_sentence_names_whom_history_put_first(weak):
    rows = [row("n3", weak=weak), row("n5", weak=weak)]

    plain, told = fused(*rows), fused(*rows, standings={"n5": LEMON})

    assert (nodes(plain), nodes(told)) == (["n3", "n5"], ["n5", "n3"])
    assert "n5" in told.verdict.summary
    assert told.verdict.cordon == plain.verdict.cordon == ()
    assert [one.role for one in told.suspects] == [one.role for one in plain.suspects]


def test_whom_the_link_alone_accuses_is_not_convicted_in_anothers_place():
    at_edge = [believed(f"n{k}", (0.52, 0.5, 0.48)[k], category=Category.NETWORK) for k in range(3)]

    def role_of(one):
        # The first is only one end of a link.
        convicted = one.at_place >= 0.5 and one.hypothesis.node != "n0"
        return Role.CULPRIT if convicted else Role.POSSIBLE

    told = order_by_history(at_edge, {"n2": LEMON}, role_of)

    assert [(one.hypothesis.node, one.at_place) for one in told] == [
        ("n0", 0.52), ("n1", 0.5), ("n2", 0.48)
    ]  # fmt: skip


def believed(node, at_place, role=Role.POSSIBLE, category=Category.GPU):
    """A belief in a place; ``role`` is written into its ranks, for the tests to read."""
    place = AtRank(9) if node is None else AtNode(node)
    ranks = (1,) if role is Role.CULPRIT else ()
    return Belief(Hypothesis(category, place, ranks=ranks), at_place, {}, 0.0, (), at_place)


def role_in_ranks(one):
    return Role.CULPRIT if one.hypothesis.ranks else Role.POSSIBLE


EVERYBODY = {f"n{k}": LEMON for k in range(8)}


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([row(), *WAITING], {}),
        ([row(), *PAIR, *WAITING], {}),
        ([row("n3"), row("n5", -3000.0)], {}),
        ([of(Category.SOFTWARE_USER, Kind.PYTHON, "n3"), *WAITING], {}),
        ([of(Category.STORAGE, Kind.PYTHON, f"n{k}", k / 10) for k in range(8)], {}),
        ([row(role=EvidenceRole.CONSEQUENCE, code=45), *WAITING], {}),
        ([row(at_s=-7 * 86400)], {}),
        (WAITING, {"findings": [claim(29)]}),
        ([row()], {"stop": Stop(None, None, known=False, trouble=False, job_seen=True)}),
    ],
    ids=[
        "convicted", "convicted beside a pair", "convicted beside an old error", "software",
        "storage on all nodes", "consequences alone", "last week's error", "the dumps alone",
        "a healthy job",
    ],
)  # fmt: skip
@pytest.mark.parametrize("guilty", ["n0", "n5", "n7"])
def test_what_evidence_tells_apart_stays_as_it_is(rows, more, guilty):
    plain = fused(*rows, **more)

    assert fused(*rows, **more, standings={guilty: LEMON}) == plain
    assert fused(*rows, **more, standings=EVERYBODY) == plain


def test_nobody_without_evidence_becomes_a_suspect():
    told = with_history(fused(row(), *WAITING, standings=EVERYBODY).suspects, EVERYBODY)

    assert [one.node for one in told] == ["n3"]


def suspect(node, score, role=Role.POSSIBLE, category=Category.GPU, position=1):
    return Suspect(position, node, (), (), category, score, role, Action.INVESTIGATE, ())


@pytest.mark.parametrize(
    ("beliefs", "wanted"),
    [
        ([believed("a", 0.45), believed("b", 0.45)], ["b", "a"]),
        ([believed("a", 0.45), believed("b", 0.41)], ["b", "a"]),
        ([believed("a", 0.45), believed("b", 0.39)], ["a", "b"]),
        ([believed("a", 0.95, Role.CULPRIT), believed("b", 0.95)], ["a", "b"]),
        ([believed(one, 0.95, Role.CULPRIT) for one in "ab"], ["b", "a"]),
        ([believed("a", 0.96, Role.CULPRIT), believed("b", 0.95, Role.CULPRIT)], ["a", "b"]),
        ([believed("a", 0.45), believed("b", 0.45, category=Category.NIC)], ["a", "b"]),
        (
            [believed(one, 0.45, category=Category.COLLECTIVE_MISMATCH) for one in "ab"],
            ["a", "b"],
        ),
        ([believed(one, 0.45, category=Category.STRAGGLER) for one in "ab"], ["a", "b"]),
        ([believed(None, 0.45), believed("b", 0.45)], [None, "b"]),
    ],
    ids=[
        "equal", "nearly equal", "told apart", "a culprit before", "culprits alike",
        "culprits nearly alike", "other trouble", "software", "lateness was measured",
        "no node known",
    ],
)  # fmt: skip
def test_places_are_exchanged_only_among_equals(beliefs, wanted):
    told = order_by_history(beliefs, {"b": LEMON}, role_in_ranks)

    assert [one.hypothesis.node for one in told] == wanted
    assert [one.at_place for one in told] == [one.at_place for one in beliefs]


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (suspect("b", 0.97, Role.CULPRIT), True),
        (suspect("b", 0.45), True),
        (suspect("b", 0.9, Role.AFFECTED), False),
        (suspect("b", 0.9, category=Category.SOFTWARE_USER), False),
        (suspect("a", 0.9), False),
    ],
    ids=["culprit", "possible", "affected", "software", "another node"],
)
def test_the_reason_is_told_where_it_belongs(one, told):
    found = with_history((one,), {"b": LEMON})[0]

    assert [reason.detector for reason in found.because] == [DETECTOR] * told
    assert replace(found, because=()) == one


def test_the_reason_is_told_beside_many_others():
    from triage.domain.report import Because

    many = tuple(Because("kernel.xid", f"line {number}") for number in range(8))
    found = with_history((replace(suspect("b", 0.97), because=many),), {"b": LEMON})[0]

    assert len(found.because) == 8
    assert found.because[-1] == Because(DETECTOR, LEMON.text)


def answered(folder, standings):
    inputs, dumps, logs, facts, notes = gather([folder], None, None)
    facts = replace(facts, standings=standings)
    weighed = weigh_incident(dumps, logs, facts)
    return build_answer(weighed, dumps, logs, facts, inputs.refused, notes).to_dict()


FOLDERS = sorted(path / "files" for path in INCIDENTS.iterdir() if (path / "files").is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.parent.name)
def test_whole_incidents_change_by_the_reason_alone(folder):
    plain = answered(folder, {})
    names = {one["node"] for one in plain["suspects"] if one["node"]}
    names |= set(plain["victims"]["nodes"]) | {"n0", "n1", "node-a"}
    told = answered(folder, dict.fromkeys(names, LEMON))

    for one in told["suspects"]:
        one["because"] = [reason for reason in one["because"] if reason["detector"] != DETECTOR]
    for one in plain["suspects"]:
        one["because"] = one["because"][:7]
    for one in told["suspects"]:
        one["because"] = one["because"][:7]
    assert told == plain


def test_a_job_json_cannot_say_who_is_a_lemon():
    body = {"job_id": "1", "standings": {"n1": LEMON.to_dict()}}

    facts, _ = fill_facts(Job(), [JobFile("job.json", orjson.dumps(body))])

    assert make_job(body).standings == {}
    assert facts.job_id == "1"
    assert facts.standings == {}
    known = Job(standings={"n2": LEMON})
    assert fill_facts(known, [JobFile("job.json", orjson.dumps(body))])[0].standings == {
        "n2": LEMON
    }


@pytest.mark.parametrize(
    "raw",
    [{}, {"grade": "lemon"}, {"grade": "guilty", "text": "x"}, {"grade": 1, "text": "x"},
     {"grade": "lemon", "text": None}],
    ids=str,
)  # fmt: skip
def test_what_is_no_prior_is_none(raw):
    assert read_prior(raw) is None


def test_a_prior_comes_back_as_it_went():
    assert read_prior(LEMON.to_dict()) == LEMON
    assert len(read_prior({"grade": "watch", "text": "x" * 9999}).text) == 300


@pytest.mark.parametrize(
    "part", ["GPU 0000:5d:00", "NIC mlx5_2", "DIMM CPU0_A1", "disk nvme1", "PCI device 0000:17:00"]
)
def test_a_standing_in_words_is_no_line_of_a_log(part):
    one = Standing(
        "n3", Grade.LEMON, ("r",), strikes=5, expected=0.12, part=part, exposure_days=50.0
    )

    prior = make_prior(one, 56.0)

    assert prior is not None
    assert part in prior.text
    assert match(prior.text) is None
    assert list_named_parts({"because": [{"text": prior.text}]}).parts == {}
