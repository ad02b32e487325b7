"""Secrets in logs are replaced, nothing else is, and lines stay lines."""

import base64
import json
import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.parsers.redact.redact import BLOCK, WINDOW, Redactor

INCIDENTS = Path(__file__).parents[2] / "incidents"
WORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz"


def random_word(length: int, letters: str = WORD) -> str:
    """A word that no scanner of this repository takes for a real secret: made here."""
    return "".join(letters[(k * k * 7 + k * 13 + length) % len(letters)] for k in range(length))


HEX40 = random_word(40, "0123456789abcdef")
BASE40 = random_word(40, string.ascii_letters + string.digits + "/+")
JWT = f"eyJ{random_word(30)}.eyJ{random_word(60)}.{random_word(43)}"

# (kind, text, what must not be in the output)
HITS = [
    ("aws_key", f"id AKIA{random_word(16).upper()} used", f"AKIA{random_word(16).upper()}"),
    ("aws_key", f"AWS_ACCESS_KEY_ID=ASIA{random_word(16).upper()}", random_word(16).upper()),
    ("aws_secret", f"AWS_SECRET_ACCESS_KEY={BASE40}", BASE40),
    ("aws_secret", f'  "SecretAccessKey": "{BASE40}",', BASE40),
    ("aws_secret", f"alice,AKIA{random_word(16).upper()},{BASE40}", BASE40),
    ("aws_signature", f"GET /x?X-Amz-Signature={HEX40}&a=1", HEX40),
    ("hf_token", f"login with hf_{random_word(34)}", random_word(34)),
    ("hf_token", f"HF_TOKEN=hf_{random_word(34)}", random_word(34)),
    *[("github_token", f"x {p}_{random_word(36)} y", random_word(36))
      for p in ("ghp", "gho", "ghu", "ghs", "ghr")],
    ("github_token", f"github_pat_{random_word(22)}_{random_word(59)}", random_word(59)),
    ("gitlab_token", f"glpat-{random_word(20)}", random_word(20)),
    ("slack_token", f"xoxb-123456789012-{random_word(24)}", random_word(24)),
    ("slack_token", f"token is xoxp-1-2-{random_word(24)}", random_word(24)),
    ("slack_webhook", f"https://hooks.slack.com/services/T0AB/B0CD/{random_word(24)}",
     random_word(24)),
    ("wandb_key", f"wandb login --relogin {HEX40}", HEX40),
    ("wandb_key", f"WANDB_API_KEY={HEX40}", HEX40),
    ("wandb_key", f"wandb.login(key='{HEX40}')", HEX40),
    ("wandb_key", f"machine api.wandb.ai login user password {HEX40}", HEX40),
    ("api_key", f"openai sk-{random_word(48)}", random_word(48)),
    ("api_key", f"sk-proj-{random_word(20)}-{random_word(40)}", random_word(40)),
    ("api_key", f"ANTHROPIC: sk-ant-api03-{random_word(93)}AA", random_word(93)),
    ("google_key", f"?key=AIza{random_word(35)}", random_word(35)),
    ("azure_key", f"AccountName=x;AccountKey={BASE40}{BASE40}==;", BASE40),
    ("azure_key", f"https://x.blob.core.windows.net/c?sv=1&sig={random_word(43)}%3D",
     random_word(43)),
    ("azure_key", f"client value abc8Q~{random_word(34)}", random_word(34)),
    ("jwt", f"cookie {JWT}", JWT),
    ("npm_token", f"npm_{random_word(36)}", random_word(36)),
    ("pypi_token", f"pypi-AgEIcHlwaS5vcmc{random_word(80)}", random_word(80)),
    ("triage_token", f"curl with triage_a1b2c3d4_{random_word(43)}", random_word(43)),
    ("webhook_secret", f"whsec_{random_word(32)}", random_word(32)),
    ("url_password", "postgresql://triage:hunter@db.local:5432/triage", "hunter"),
    ("url_password", "redis://:hunter@cache:6379/0", "hunter"),
    ("url_password", "amqp://guest:p@hunter@mq/", "p@hunter"),
    ("url_password", f"git clone https://{random_word(40)}@example.org/x", random_word(40)),
    ("docker_auth", '{"auths":{"r.io":{"auth": "dXNlcjpodW50ZXI="}}}', "dXNlcjpodW50ZXI="),
    ("authorization", "Authorization: Bearer hunter", "hunter"),
    ("authorization", "'authorization': 'Basic dXNlcjpodW50ZXI='", "dXNlcjpodW50ZXI="),
    ("authorization", f"header: Bearer {random_word(32)}", random_word(32)),
    ("authorization", f"Authorization: {random_word(32)}", random_word(32)),
    ("password", "PGPASSWORD=hunter", "hunter"),
    ("password", "export DB_PASSWORD='hunter'", "hunter"),
    ("password", "declare -x MY_SECRET=\"hunter\"", "hunter"),
    ("password", "AZURE_API_KEY=hunter", "hunter"),
    ("password", '{"db_password": "hunter", "x": 1}', "hunter"),
    ("password", "{'api_key': 'hunter two', 'x': 1}", "hunter two"),
    ("password", "environ({'CLIENT_SECRET': 'hunter'})", "hunter"),
    ("password", r'"{\"password\": \"hunter\"}"', "hunter"),
    ("password", "password: hunter2", "hunter2"),
    ("password", "mysql --password=hunter2 -h db", "hunter2"),
    ("token", "CI_JOB_TOKEN=hunter", "hunter"),
    ("token", "{'HF_TOKEN': 'hunter'}", "hunter"),
    ("token", f"access_token={random_word(24)}", random_word(24)),
    ("token", f'"token": "{random_word(24)}"', random_word(24)),
    ("token", f"train.py --hub-token {random_word(24)}", random_word(24)),
    ("token", f"--api-key {random_word(24)}", random_word(24)),
    ("private_key", f"-----BEGIN PRIVATE KEY-----\\n{BASE40}\\n-----END PRIVATE KEY-----\\n",
     BASE40),
]  # fmt: skip

NEAR_MISSES = [
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    f"wandb: git commit {HEX40}",
    f"commit {HEX40}",
    "uuid GPU-5c0f3c7a-6d6b-7c3b-1c7e-0d1a2b3c4d5e",
    "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', GPU has fallen off the bus.",
    "RIP: 0010:__schedule+0x2d4/0x8b0 RSP: 0018:ffffb3a9c0a3bd58",
    "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM comm 0x55d8f1e2c3b0 nRanks 08",
    "tokens/s 12345.6, tokens: 50256, token=50256, num_tokens=1024",
    "eos_token=</s> pad_token: '<pad>' bos_token=\"<|begin_of_text|>\" PAD_TOKEN=[PAD]",
    "    conn = connect(host, password=password, token=token)",
    "    api_key=os.environ['API_KEY'], secret=self.secret)",
    "def login(api_key: str, password: Optional[str] = None, token: str = None):",
    "password: None, secret=null, API_KEY=<your key>, TOKEN=${TOKEN} PASSWORD=******",
    "tokenizer.json: loading, task-3, disk-sk-1, mask-rcnn, sk-learn",
    "Failed password for root from 10.0.0.1 port 22 ssh2",
    "systemd[1]: Started Forward Password Requests to Plymouth Directory Watch.",
    "KeyError: 'secret'",
    "from huggingface_hub import hf_hub_download_with_retries",
    "init_method=tcp://10.0.0.1:23456 rank 3",
    "mail root@node-1.cluster, rsync user@host:/data",
    "-----BEGIN CERTIFICATE-----",
    "AKIAS are not keys; asia-east1-b; ASIA2026",
    "authorization failed for user alice; author: bob",
    "Bearer of bad news, Basic block at line 3",
    "eyJustAWord.and another",
    "triage_analyze finished",
    "pypi-server 1.2, npm_config_registry=https://packages.example.org/",
]


def redacted(text: bytes, sizes: tuple[int, ...] = ()) -> tuple[bytes, dict[str, int]]:
    redactor = Redactor()
    out = []
    place = 0
    for size in sizes:
        out.append(redactor.feed(text[place : place + size]))
        place += size
    out.append(redactor.feed(text[place:]))
    out.append(redactor.finish())
    return b"".join(out), redactor.counts


@pytest.mark.parametrize(
    ("kind", "text", "gone"), HITS, ids=[f"{k}-{i}" for i, (k, _, _) in enumerate(HITS)]
)
class TestHits:
    def test_replaces_the_secret_and_keeps_the_rest_of_the_lines(self, kind, text, gone):
        out, counts = redacted(f"before 1\n{text}\nafter 2\n".encode())

        assert gone.encode() not in out
        assert b"[redacted:%b]" % kind.encode() in out
        assert counts.get(kind)
        assert out.startswith(b"before 1\n")
        assert out.endswith(b"\nafter 2\n")
        assert out.count(b"\n") == 3

    def test_finds_it_as_the_last_bytes_and_behind_a_prefix(self, kind, text, gone):
        out, _ = redacted(f"Nov 21 10:00:00 n1 train[7]: [rank3]: {text}".encode())

        assert gone.encode() not in out

    def test_finds_it_with_colours_inside(self, kind, text, gone):
        middle = text.index(gone) + len(gone) // 2
        coloured = f"\x1b[32m{text[:middle]}\x1b[0;31m{text[middle:]}\x1b[0m tail"

        out, counts = redacted(coloured.encode())

        assert gone.encode() not in out
        assert gone[len(gone) // 2 :].encode() not in out
        assert counts
        assert out.endswith(b" tail")

    def test_finds_it_in_a_line_without_end(self, kind, text, gone):
        for at in (WINDOW - (1 << 15) - 20, WINDOW - 20, BLOCK - 20, 2 * WINDOW):
            out, _ = redacted(b"." * at + b" " + text.encode() + b" " + b"." * 400_000)

            assert gone.encode() not in out, at
            assert len(out) > at + 400_000


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_leaves_what_is_no_secret(text):
    data = f"{text}\n\x1b[33m{text}\x1b[0m\n".encode()

    assert redacted(data) == (data, {})


def test_leaves_the_logs_of_every_incident_alone():
    lines = 0
    for path in sorted(INCIDENTS.rglob("*")):
        data = path.read_bytes() if path.is_file() else b"\x80"
        if data[:1] != b"\x80":
            lines += data.count(b"\n")
            assert redacted(data) == (data, {}), path
    assert lines > 1000


KEY_LINES = [base64.b64encode(bytes((k * 7 + j) % 256 for j in range(48))) for k in range(20)]


@pytest.mark.parametrize("prefix", [b"", b"Nov 21 10:00:00 n1 app[3]: ", b"[rank0]: ", b"    "])
@pytest.mark.parametrize("kind", [b"RSA PRIVATE KEY", b"OPENSSH PRIVATE KEY", b"PRIVATE KEY"])
def test_replaces_a_key_line_by_line(prefix, kind):
    lines = [
        b"-----BEGIN " + kind + b"-----",
        *KEY_LINES,
        b"QUJDRA==",
        b"-----END " + kind + b"-----",
    ]
    text = b"first\n" + b"".join(prefix + line + b"\n" for line in lines) + b"last line\n"

    out, counts = redacted(text)

    assert counts == {"private_key": len(lines)}
    assert out.splitlines() == [
        b"first", *[prefix + b"[redacted:private_key]"] * len(lines), b"last line",
    ]  # fmt: skip


def test_lets_other_ranks_write_between_the_lines_of_a_key():
    text = b"-----BEGIN PRIVATE KEY-----\n"
    text += b"".join(line + b"\n[rank1]: step 5 done\n" for line in KEY_LINES)
    text += b"-----END PRIVATE KEY-----\n" + KEY_LINES[0] + b"\n"

    out, _ = redacted(text)

    assert out.count(b"[rank1]: step 5 done\n") == len(KEY_LINES)
    assert out.endswith(KEY_LINES[0] + b"\n")
    assert not any(line in out for line in KEY_LINES[1:])


def test_a_key_without_end_hides_no_more_than_its_lines():
    text = b"-----BEGIN PRIVATE KEY-----\n" + b"an ordinary line of the log, number 7\n" * 300

    out, counts = redacted(text)

    assert counts == {"private_key": 1}
    assert out.count(b"an ordinary line of the log, number 7\n") == 300


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_says_the_same_however_the_text_is_cut(data):
    pieces = data.draw(
        st.lists(
            st.one_of(
                st.sampled_from([text for _, text, _ in HITS]),
                st.sampled_from(NEAR_MISSES),
                st.sampled_from(["\n", "\n", " ", "-----BEGIN PRIVATE KEY-----\n", "\x1b[31m"]),
                st.sampled_from(["." * 30_000, "x " * 40_000]),
            ),
            max_size=30,
        )
    )
    text = "".join(pieces).encode()
    sizes = data.draw(st.lists(st.integers(0, 150_000), max_size=12))

    assert redacted(text, tuple(sizes)) == redacted(text)


def test_one_byte_at_a_time_is_the_same():
    text = "\n".join(text for _, text, _ in HITS).encode()

    assert redacted(text, (1,) * len(text)) == redacted(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000))
def test_takes_any_bytes_and_keeps_their_lines(data):
    out, _ = redacted(data)

    assert out.count(b"\n") == data.count(b"\n")


def test_redacting_twice_changes_nothing_more():
    text = "\n".join(text for _, text, _ in HITS).encode()
    once, _ = redacted(text)

    assert redacted(once) == (once, {})


HOSTILE = [
    b" ", b"1", b"[", b"a=", b"-----BEGIN", b"-----BEGIN PRIVATE KEY-----", b"password=",
    b"AKIA", b"eyJ", b" eyJaaaaaaaa.", b"://a:", b"://a@", b"xoxb-", b" sk-a",
    b"wandb login --a ", b"\x1b[31m", b"\x1b[", b"-----BEGIN PRIVATE KEY-----\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_takes_time_in_proportion(unit):
    def took(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        began = time.process_time()
        redacted(text)
        return time.process_time() - began

    # A quadratic one takes sixteen times as long for four times as much, and minutes; a busy
    # machine is asked again.
    assert any(took(1 << 20) < 10 * max(took(1 << 18), 0.01) for _ in range(3))


def test_a_json_dump_of_an_environment_stays_json():
    values = {
        "HOME": "/root",
        "WANDB_API_KEY": HEX40,
        "HF_TOKEN": f"hf_{random_word(34)}",
        "N": "8",
    }

    out, _ = redacted(json.dumps(values, indent=1).encode())

    read = json.loads(out)
    assert read["HOME"] == "/root"
    assert read["N"] == "8"
    assert re.fullmatch(r"\[redacted:\w+\]", read["WANDB_API_KEY"])
    assert read["HF_TOKEN"] == "[redacted:hf_token]"
