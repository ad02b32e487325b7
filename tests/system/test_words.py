"""Words out of hostile logs, in every form of an answer: text that acts nowhere it is shown."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator

import pytest

from tests.hostile.log_incident import GUILTY, good
from tests.notify.messages import HOSTILE
from tests.system.attacked import Attacked, attacked
from tests.system.hostile_uploads import tar_of

WORDS = HOSTILE.replace("\udcff", "").replace("\x00", "")
FORMULAS = ("=HYPERLINK(1)", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "|x", "%0A=1")
# What no form may hold: control characters, bidi marks, what hides.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
STARTS = ("=", "+", "-", "@", "|", "%", "\t", "\r", "＝", "＋", "－", "＠")
LIVE_MARKUP = re.compile(
    r"(?<!\\)<(?:script|!channel|!here|@U|img)|(?<!\\)\]\(|(?<!\\)!\[|https?://|(?<![\w&;])@everyone"
    r"|(?<!\\)`",
    re.IGNORECASE,
)


def hostile_incident() -> dict[str, bytes]:
    """A convicted GPU, whose kernel line, ranks and files speak in tongues."""
    files = {name: one.encode() if isinstance(one, str) else one for name, one in good().items()}
    xid = files["nodes/n2/kernel.log"]
    files["nodes/n2/kernel.log"] = xid.replace(b"name=python3", b"name=" + WORDS.encode()[:300])
    lines = [f"[rank{k}]: RuntimeError: {text} {WORDS}\n" for k, text in enumerate(FORMULAS)]
    lines += [f"[rank9]: ValueError: {text}\n" for text in FORMULAS]
    files["nodes/n1/=cmd|' /C calc'!A0<script>\u202e@everyone.log"] = "".join(lines).encode()
    files["nodes/=HYPERLINK(1)<!channel>\u202e/kernel.log"] = files["nodes/n2/kernel.log"].replace(
        b" n2 ", b" =HYPERLINK(1) "
    )
    return files


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("words")) as found:
        yield found
        assert found.faults() == []


@pytest.fixture(scope="module", params=["words", "=job<script>@everyone\u202e[x](http://evil)"])
def incident(request: pytest.FixtureRequest, service: Attacked) -> str:
    """The path of an incident; the job's own name is hostile too."""
    from urllib.parse import quote

    answer = service.call(
        "POST", f"/v1/jobs/{quote(request.param, safe='')}/bundle", tar_of(hostile_incident())
    )
    # 200: where tests are shared out, the same files may come to one service a second time.
    assert answer.status in (200, 201), answer.body
    service.settled(answer.json()["incident_id"])
    return f"/v1/incidents/{answer.json()['incident_id']}"


def text_of(service: Attacked, path: str, accept: str) -> str:
    """The answer in one form, with the headers that keep a browser from guessing."""
    answer = service.call("GET", path, headers={"Accept": accept})
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].partition(";")[0] == accept
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    return answer.body.decode()


def unseen(text: str) -> list[str]:
    return sorted({char for char in text if unicodedata.category(char) in UNSEEN} - {"\n", "\r"})


def test_the_words_reach_the_reasons(incident: str, service: Attacked) -> None:
    found = json.loads(text_of(service, f"{incident}/suspects", "application/json"))

    assert GUILTY in {one["node"] for one in found["suspects"]}
    assert "channel" in json.dumps(found)


def test_csv_holds_no_formula_and_nothing_unseen(incident: str, service: Attacked) -> None:
    text = text_of(service, f"{incident}/suspects", "text/csv")
    rows = list(csv.reader(io.StringIO(text, newline="")))

    assert len(rows) >= 2
    assert len({len(row) for row in rows}) == 1
    assert [cell for row in rows for cell in row if cell.startswith(STARTS)] == []
    assert unseen(text) == []


def test_markdown_shows_the_words_and_makes_nothing_of_them(
    incident: str, service: Attacked
) -> None:
    told = text_of(service, f"{incident}/suspects", "text/markdown")
    text = re.sub(r"^```sh\n[^`]*^```$", "", told, count=1, flags=re.MULTILINE)

    assert "channel" in text
    assert len(re.findall(r"(?<!\\)\*\*", text)) == 2, "our own heading"
    assert LIVE_MARKUP.findall(text) == []
    assert unseen(text) == []
    ours = r"^(?!\*\*|\||- |$|No suspects|On |Next: |Job: |Coverage: |Incident |The \d)"
    assert not re.search(ours, text, re.MULTILINE), "one line a reason"


def test_every_line_of_ndjson_is_one_object(incident: str, service: Attacked) -> None:
    text = text_of(service, f"{incident}/suspects", "application/x-ndjson")
    rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]

    assert all(row["position"] == k for k, row in enumerate(rows, 1))
    assert unseen(text) == []


@pytest.mark.parametrize(
    "part", ["", "/report", "/suspects", "/artifacts", "/evidence", "/collectives", "/timeline"]
)
def test_json_is_said_to_be_json_and_holds_nothing_unseen(
    part: str, incident: str, service: Attacked
) -> None:
    text = text_of(service, incident + part, "application/json")

    assert json.loads(text)
    assert unseen(text) == []


@pytest.mark.parametrize("path", ["/v1/nodes/n0", "/v1/incidents", "/metrics", "/docs", "/nowhere"])
def test_every_route_says_what_it_is(path: str, incident: str, service: Attacked) -> None:
    assert incident
    answer = service.call("GET", path)

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"]
    assert b"<script>alert(1)" not in answer.body
