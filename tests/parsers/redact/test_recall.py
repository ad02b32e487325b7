"""Recall over a thousand planted forms of more than 300 kinds; near misses stay."""

import random
import string

import pytest

from triage.parsers.redact.redact import Redactor

WORD = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
# Prefix, letters, length: as the issuers and public lists of scanners publish them.
PREFIXES = """nvapi- w 64|gsk_ w 52|pplx- w 48|xai- w 80|r8_ w 37|rpa_ w 40|hf_ w 34|api_org_ w 34
lsv2_pt_ h 32|lsv2_sk_ h 32|sk-ant-api03- w 93|sk-proj- w 60|sk-or-v1- h 64|pcsk_ w 60|dapi h 32
hvs. w 90|hvb. w 140|glpat- w 20|glrt- w 20|gldt- w 20|glcbt-64_ w 20|glptt- h 40|glft- w 20|glimt- w 25
gloas- h 64|glsoat- w 20|glagent- w 50|glffct- w 20|GR1348941 w 20|ghp_ w 36|gho_ w 36|ghu_ w 36
ghs_ w 36|ghr_ w 36|github_pat_ w 82|glsa_ w 32|glc_ w 60|dop_v1_ h 64|doo_v1_ h 64|dor_v1_ h 64
dp.pt. w 43|dp.st. w 43|npm_ w 36|pypi-AgEIcHlwaS5vcmc w 80|rubygems_ h 48|pul-  h 40|sgp_ h 40
squ_ h 40|sqp_ h 40|PMAK- h 59|figd_ w 43|CCIPAT_ w 62|bkua_ w 40|dckr_pat_ w 27|dckr_oat_ w 32
tskey-auth- w 30|lin_api_ w 40|ntn_ w 46|shpat_ h 32|shpca_ h 32|shppa_ h 32|shpss_ h 32
sq0atp- w 22|sq0csp- w 43|sk_live_ w 24|sk_test_ w 24|rk_live_ w 24|rzp_live_ w 14|EZAK w 54
EZTK w 54|SG. w 66|xkeysib- h 64|key- h 32|sntrys_ w 100|sntryu_ h 64|dt0c01. w 88|NRAK- w 27
NRII- w 32|HRKU-AA w 58|ATATT3 w 186|ATCTT3 w 186|ATBB w 32|AKCp8 w 69|cmVmd w 59|ops_eyJ w 250
p8e- w 32|LTAI w 20|AIza w 35|ya29. w 60|GOCSPX- w 28|ABSK w 110|fo1_ w 43|fm2_ w 100|pnu_ w 36
pscale_tkn_ w 43|pscale_pw_ w 43|sbp_ h 40|sha256~ w 43|tfp_ w 59|rdme_ w 70|phx_ w 43|CFPAT- w 43
aio_ w 28|apify_api_ w 36|fio-u- w 64|pat-na1- h 36|sm_pat_ w 16|alcht_ w 32|da2- w 26|BBDC- w 44
duffel_live_ w 43|shippo_live_ h 40|ramp_sec_ w 48|EAAC w 120|whsec_ w 32|xoxb-123456789012- w 24
xoxp-12345678- w 24|xapp-1- w 40|AGE-SECRET-KEY-1 U 58|AKIA U 16|ASIA U 16|acme_live_ w 32
fooco-api- w 40|bar_pat_ w 36|MUNGE: w 120|s-s4t2ud- h 64|ico- w 32|nfp_ w 40|CLOJARS_ w 60"""  # noqa: E501
LETTERS = {"w": WORD, "h": HEX, "U": "ABCDEFGHJKLMNPQRSTUVWXYZ234567"}
SURROUNDINGS = (
    "{}", "2026-11-24 10:00:00 [rank3]: login with {}", '{{"x": "{}", "y": 1}}',
    "requests.get(url, headers={{'k': '{}'}})",
)  # fmt: skip
VENDORS = [
    "adafruit",
    "algolia",
    "alibaba",
    "asana",
    "beamer",
    "bittrex",
    "codecov",
    "cohere",
    "coinbase",
    "confluent",
    "contentful",
    "datadog",
    "discord",
    "droneci",
    "dropbox",
    "etsy",
    "fastly",
    "finicity",
    "flickr",
    "freshbooks",
    "gitter",
    "intercom",
    "jfrog",
    "kraken",
    "kucoin",
    "launchdarkly",
    "linkedin",
    "looker",
    "mailgun",
    "mapbox",
    "mattermost",
    "messagebird",
    "netlify",
    "nytimes",
    "okta",
    "plaid",
    "rapidapi",
    "sendbird",
    "snyk",
    "sonar",
    "sumologic",
    "telegram",
    "travis",
    "twitch",
    "twitter",
    "typeform",
    "yandex",
    "zendesk",
    "mlflow",
    "comet",
    "neptune",
    "wandb",
    "ngc",
    "slurm",
    "grafana",
    "pagerduty",
    "opsgenie",
    "vault",
    "consul",
    "nomad",
    "minio",
    "ceph",
]
NAMED = (
    "{V}_API_KEY={}", "{v}_api_key: {}", '"{v}ApiKey": "{}"', "{V}_TOKEN={}", "{v}.token = {}",
    "--{v}-token {}", "{V}_CLIENT_SECRET='{}'", "export {V}_PASSWORD={}",
)  # fmt: skip
LINES = """Cookie: session={}; theme=dark|Set-Cookie: sid={}; HttpOnly|X-Api-Key: {}|X-Auth-Token: {}
PRIVATE-TOKEN: {}|Authorization: Bearer {}|Authorization: Basic {}|curl -u user:{} https://h/x
curl --user admin:{} https://h/|mysql -h db -u root -p{} jobs|mysqldump --password={} x
sshpass -p {} ssh n1|redis-cli -h r -a {}|docker login -u u -p {} r.io|ipmitool -H b -U root -P {} sel
racadm -r b -u root -p {} getsel|wandb: Paste an API key from your profile and hit enter: {}
Enter your OpenAI API key: {}|Password for 'https://u@git': {}|[sudo] password for u: {}
postgresql://u:{}@db/x|redis://:{}@r:6379|amqp://u:p/{}@mq/v|mongodb+srv://u:{}@c.example/x
u:{}@tcp(db:3306)/x|jdbc:oracle:thin:scott/{}@//h:1521/x|https://s/x?X-Goog-Signature={}&a=1
https://s/x?AWSAccessKeyId=a&Signature={}&Expires=1|https://s/x?sv=1&sig={}|https://s/x?access_token={}
StoragePass={}|client-key-data: {}|munge.key: {}|routing_key: {}|password is {}|PWD={};Uid=u;Pwd={}
machine h login u password {}|echo {} \\| docker login --password-stdin|<password>{}</password>
{"name": "DB_PASSWORD", "value": "{}"}|password%3D{}|\\"secret\\": \\"{}\\"|db:5432:jobs:u:{}
requirepass {}|openssl rsa -passin pass:{} -in k|ALTER USER u WITH PASSWORD '{}'
https://hooks.slack.com/services/T0/B0/{}|https://discord.com/api/webhooks/123456789012345678/{}
rabbitmqctl add_user u {}|ldapsearch -D cn=x -w {} -b y|smbclient -U u%{} //h/s"""  # noqa: E501
WORDS = """password: correcthorse|--password hunter-two|db_password=correcthorse|passwd: correcthorse
mysql -pcorrecthorse x|curl -u u:correcthorse h|PGPASSWORD=correcthorse|--password correcthorse"""  # noqa: E501


def planted() -> list[tuple[str, str, str]]:
    """(kind, line, what must not be in the output)."""
    draw = random.Random(20261124)

    def word(letters: str, size: int) -> str:
        made = "".join(draw.choice(letters) for _ in range(size - 2))
        return (
            f"{made}{draw.choice('23456789')}{draw.choice('abcdef')}"
            if letters != LETTERS["U"]
            else made + "A7"
        )

    forms = []
    for row in PREFIXES.replace("\n", "|").split("|"):
        prefix, kind, size = row.split()
        for frame in SURROUNDINGS:
            tail = word(LETTERS[kind], int(size))
            forms.append((prefix, frame.format(prefix + tail), tail))
    for vendor in VENDORS:
        for number, frame in enumerate(NAMED):
            tail = word(HEX if number % 2 else WORD, 32)
            named = frame.replace("{V}", vendor.upper()).replace("{v}", vendor)
            forms.append((f"{vendor} {number}", named.replace("{}", tail), tail))
    for row in LINES.replace("\\|", "\0").replace("\n", "|").split("|"):
        for size in (24, 40):
            tail = word(HEX if "Paste" in row else WORD, 40 if "Paste" in row else size)
            forms.append((row, row.replace("\0", "|").replace("{}", tail), tail))
    forms += [(row, row, "correcthorse" if "horse" in row else "hunter-two")
              for row in WORDS.replace("\n", "|").split("|")]  # fmt: skip
    return forms


def redacted(text: str) -> str:
    redactor = Redactor()
    return (redactor.feed(text.encode()) + redactor.finish()).decode()


def test_finds_99_of_100_planted_forms():
    forms = planted()
    missed = [(kind, line) for kind, line, tail in forms if tail in redacted(line + "\n")]

    assert len(forms) >= 1000
    assert len({kind for kind, _, _ in forms}) >= 300
    assert len(missed) <= len(forms) // 100, missed[:40]


@pytest.mark.parametrize(
    "line",
    [
        "image nvcr.io/nvidia/pytorch@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",  # noqa: E501
        "docker://registry.local:5000/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
        "wandb: run id 3k9x2m1q, View run at https://wandb.ai/team/llama/runs/3k9x2m1q",
        "GPU-5c0f3c7a-6d6b-7c3b-1c7e-0d1a2b3c4d5e uuid 5c0f3c7a-6d6b-7c3b-1c7e-0d1a2b3c4d5e",
        "job llama3-70b-pretrain-20261124-a1b2c3d4 requeued; nightly_test_a1b2c3d4",
        "git commit 8f3c1d2e4b5a69788796a5b4c3d2e1f0a9b8c7d6, model-00001-of-00030.safetensors",
        "cache_key=9f86d081884c7d659a2feaa0c55ad015 num_key_value_heads=8 key_padding_mask=None",
        "forward pass: 12.3 ms, backward pass: 3.2 s, bypass=1, compass=7",
        "http://n1:8080/metrics, tcp://10.0.0.1:29500, etcd://n2:2379",
        "password: str, token: Optional[str], passphrase=getpass.getpass()",
        "usage: train.py [--password PASSWORD] [--token TOKEN] [--api-key KEY]",
        "invalid password: authentication failed for user bob",
        "KeyError: 'module.layers.3.attention.query_key_value.weight'",
        "torch.distributed store key /worker/rank_3/default_pg/0//cuda set",
    ],
)  # fmt: skip
def test_leaves_identifiers_alone(line: str):
    assert redacted(line + "\n") == line + "\n"
