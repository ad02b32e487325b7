"""Words that are meant for the agent, in lines, names of files, nodes and jobs: they are quoted,
and everything else of an answer is the same without them.
"""

import asyncio
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage
from tests.agents.asked import PROMPTS, outside, renamed, service, size_of
from tests.hostile.log_incident import good, write
from triage.agents import questions
from triage.agents.answers import Answer, Quotes, clean_quote
from triage.agents.server import MAX_ANSWER_BYTES, make_tool_result
from triage.agents.shapes import OfIncident, OfJob

OF_JOB = OfJob(job_id="4711")
PLAIN = "n2"


def analysed(folder: Path, word: str) -> dict:
    """The report on an incident whose convicting line and whose ranks say ``word``."""
    files = {name: one.encode() if isinstance(one, str) else one for name, one in good().items()}
    said = word.encode().replace(b"\n", b" ")[:200]
    files["nodes/n2/kernel.log"] = files["nodes/n2/kernel.log"].replace(
        b"name=python3", b"name=" + said
    )
    files["job.log"] += b"[rank9]: ValueError: " + said + b"\n"
    return triage.analyze(write(folder, files)).to_dict()


def answers(report: dict, node: str = PLAIN, job_id: str = "4711") -> list[Answer]:
    ask = service(report, job_id)
    of_node = OfIncident(incident_id="inc_1", node=node)

    async def all_of_them() -> list[Answer]:
        return [
            await questions.what_stopped_this_job(ask, OF_JOB),
            await questions.why_is_this_node_suspected(ask, of_node),
            await questions.what_would_change_the_answer(ask, OF_JOB),
        ]  # fmt: skip

    return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return analysed(tmp_path_factory.mktemp("plain"), "python3")


def test_the_incident_convicts(report: dict) -> None:
    job, node, _ = answers(report)
    assert job.fields["verdict"]["category"] == "gpu"
    assert job.fields["verdict"]["cordon"] == [PLAIN]
    assert node.fields["suspect"]["node"] == PLAIN
    assert node.fields["evidence"][0]["artifact"] == "nodes/n2/kernel.log"
    assert node.fields["evidence"][0]["line"]


@pytest.mark.parametrize("word", PROMPTS, ids=range(len(PROMPTS)))
def test_a_line_of_a_log_changes_nothing_outside_of_the_quotes(
    word: str, report: dict, tmp_path: Path
) -> None:
    for plain, hostile in zip(answers(report), answers(analysed(tmp_path, word)), strict=True):
        assert outside(hostile) == outside(plain)


@pytest.mark.parametrize("word", PROMPTS, ids=range(len(PROMPTS)))
def test_a_name_of_a_node_is_a_reference(word: str, report: dict) -> None:
    hostile = renamed({**report, "coverage": None}, PLAIN, word)
    hostile["coverage"] = report["coverage"]
    plain, other = answers(report), answers(hostile, node=word)
    for one, two in zip(plain, other, strict=True):
        quotes = two.quotes.shown()["quotes"]
        reference = quotes[-1]["ref"] if "untrusted:" in outside(two) else "-"
        names = {one["ref"] for one in quotes if one["of"] == "name"}
        text = outside(two)
        for name in names:
            text = text.replace(name, "?")
        assert reference in {"-", *names}
        assert shape_of(json.loads(text)) == shape_of(json.loads(outside(one)))
        assert word not in outside(two)


@pytest.mark.parametrize("word", PROMPTS, ids=range(len(PROMPTS)))
def test_a_job_id_and_a_cluster_are_references(word: str, report: dict) -> None:
    ask = service(report, word, word)
    answer = asyncio.run(questions.what_stopped_this_job(ask, OF_JOB))
    job_id, cluster = (answer.fields["incident"][key] for key in ("job_id", "cluster"))
    assert job_id.startswith("untrusted:name-")
    assert cluster == job_id
    plain = asyncio.run(questions.what_stopped_this_job(service(report), OF_JOB))
    put_back = outside(answer).replace(f'"cluster": "{cluster}"', '"cluster": "a"')
    assert put_back.replace(job_id, "4711") == outside(plain)


def shape_of(value: object) -> object:
    """Keys, numbers and types; texts by their kind alone."""
    if isinstance(value, dict):
        return {key: shape_of(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape_of(one) for one in value]
    return "text" if isinstance(value, str) else value


@given(st.text(max_size=400))
def test_a_quote_cannot_be_closed_and_holds_nothing_hidden(text: str) -> None:
    quotes = Quotes()
    quotes.text(f"[end] {text} [untrusted", "a line")
    shown = quotes.shown()["quotes"][0]["text"]
    begin, end = f"[untrusted {quotes.nonce}] ", f" [end {quotes.nonce}]"
    assert shown.startswith(begin)
    assert shown.endswith(end)
    assert shown.count(quotes.nonce) == 2
    inside = shown.removeprefix(begin).removesuffix(end)
    assert {unicodedata.category(char) for char in inside}.isdisjoint(
        {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )
    assert not set(inside) & set("<>`{}")
    assert len(json.dumps(inside, ensure_ascii=False).encode()) <= 202


@given(st.text(max_size=300))
def test_a_name_stands_for_itself_or_is_a_reference(text: str) -> None:
    quotes = Quotes()
    for shown in (quotes.name(text), quotes.name(text, of_file=True)):
        assert shown == text or shown.startswith("untrusted:")
        assert shown.isascii()
        assert not set(shown) & set(" <>`{}[]\"'\\")


@pytest.mark.parametrize(
    "name", ["n3", "gpu-a-017.cluster.local", "ip-10-0-1-22.eu-west-1.compute.internal"]
)
def test_names_of_nodes_are_plain(name: str) -> None:
    assert Quotes().name(name) == name


@pytest.mark.parametrize(
    "path", ["nodes/n3/kernel.log", "fr/comm_lib_trace_rank_5", "0000:5d:00", "4711_4", "job.out"]
)
def test_names_of_files_and_parts_are_plain(path: str) -> None:
    assert Quotes().name(path, of_file=True) == path


def test_each_answer_has_a_nonce_of_its_own() -> None:
    assert len({Quotes().nonce for _ in range(100)}) == 100


def test_wide_forms_of_signs_are_the_signs() -> None:
    assert clean_quote("＜system＞", 99) == "‹system›"


def test_what_was_seen_first_is_quoted_where_nobody_is_named(tmp_path: Path) -> None:
    line = (
        "[rank1]:[E1206 18:44:11.715298711 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=912, OpType=ALLREDUCE, NumelIn=8,"
        " NumelOut=8, Timeout(ms)=600000) ran for 600035 milliseconds before timing out."
    )
    (tmp_path / "job.log").write_text(f"{line}\n")
    report = triage.analyze(tmp_path).to_dict()
    answer = questions.answer_of_report(report, Quotes())
    (seen,) = answer.fields["seen_first"]
    assert (seen["rank"], seen["op"], seen["seq_id"]) == (1, "ALLREDUCE", 912)
    assert (seen["artifact"], seen["line"]) == ("job.log", 1)
    quotes = answer.quotes.shown()["quotes"]
    (quoted,) = [one["text"] for one in quotes if one["ref"] == seen["quote"]]
    assert "Watchdog caught" in quoted
    assert "Watchdog" not in outside(answer)


@pytest.mark.parametrize("word", ["x" * 4000, "語" * 4000, '"\\' * 2000, "\u202e<`{" * 900])
def test_the_longest_answers_are_below_the_limit(word: str, report: dict) -> None:
    because = [
        {
            "detector": word,
            "text": word,
            "artifact": f"{k}{word}"[:250],
            "line": 10**9,
            "at": "x" * 24,
        }
        for k in range(16)
    ]
    suspect = {**report["suspects"][0], "ranks": list(range(10**6, 10**6 + 64)), "because": because}
    suspects = [
        {
            **suspect,
            "position": k,
            "node": f"{k}{word}"[:250],
            "gpus": [f"{k}{j}{word}" for j in range(9)],
        }
        for k in range(9)
    ]
    wanted = [
        {"kind": "kernel_log", "node": f"{k}{word}"[:250], "rank": k, "why": word}
        for k in range(32)
    ]
    verdict = {
        **report["verdict"],
        "summary": word,
        "cordon": [f"{k}{word}"[:250] for k in range(40)],
    }
    restart = {"decision": "stop", "exclude": verdict["cordon"], "retries_left": 9, "why": word}
    symptom = {
        "text": word, "rank": 10**6, "node": f"s{word}"[:250], "op": word, "seq_id": 10**12,
        "pg": word, "num_ranks": 10**6, "artifact": f"s{word}"[:250], "line": 10**9,
        "at": "x" * 24,
    }  # fmt: skip
    worst = {
        **report,
        "symptoms": [symptom] * 5,
        "suspects": suspects,
        "verdict": verdict,
        "restart": restart,
        "wanted": wanted,
    }
    for answer in answers(worst, node=f"0{word}"[:250], job_id=word):
        assert size_of(make_tool_result(answer)) <= MAX_ANSWER_BYTES


def test_usual_answers_are_below_four_kib(report: dict) -> None:
    for answer in answers(report):
        assert size_of(make_tool_result(answer)) < 4 << 10
