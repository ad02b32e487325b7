"""Tokens with a prefix of their own, as their issuers publish it, one row each.

Sources: the lists of fixed prefixes that gitleaks, trufflehog and GitHub's secret scanning
publish, and the issuers' own pages. A row is a fact: what a token begins with, which
characters follow, and how many there are at least. A shorter one is taken, too, where it
cannot be anything else, since logs cut lines.
"""

import re
from typing import Final

from triage.parsers.redact.secret import (
    WORD_END,
    WORD_START,
    Secret,
    is_mixed,
    is_random,
    make_secret,
)

# What follows a prefix: letters and digits; also `-` and `_`; hex digits; base64; with dots.
_WORD, _URL, _HEX, _B64, _DOT = "word", "url", "hex", "base64", "dot"
_CHARS: Final = {
    _WORD: rb"[A-Za-z0-9]",
    _URL: rb"[A-Za-z0-9_-]",
    _HEX: rb"[A-Fa-f0-9-]",
    _B64: rb"[A-Za-z0-9+/=_-]",
    _DOT: rb"[A-Za-z0-9+/=_.,-]",
}
_ROWS: Final = (
    # Trainers, models and what runs them.
    ("nvidia_key", "nvapi-", _URL, 20), ("hf_token", "hf_", _WORD, 20),
    ("hf_token", "api_org_", _WORD, 20), ("wandb_key", "wandb_v1_", _URL, 20),
    ("groq_key", "gsk_", _WORD, 20), ("perplexity_key", "pplx-", _WORD, 20),
    ("xai_key", "xai-", _URL, 30), ("replicate_key", "r8_", _URL, 30),
    ("runpod_key", "rpa_", _WORD, 20), ("fireworks_key", "fw_", _WORD, 20),
    ("together_key", "tgp_v1_", _URL, 20), ("anyscale_key", "esecret_", _WORD, 15),
    ("langsmith_key", "lsv2_", _URL, 20), ("langfuse_key", "sk-lf-", _HEX, 20),
    ("langfuse_key", "pk-lf-", _HEX, 20), ("pinecone_key", "pcsk_", _URL, 20),
    ("jina_key", "jina_", _URL, 20), ("tavily_key", "tvly-", _URL, 20),
    ("voyage_key", "pa-", _URL, 40), ("salad_key", "salad_cloud_", _URL, 20),
    ("coreweave_key", "CW-SECRET-", _WORD, 20), ("databricks_key", "dapi", _HEX, 32),
    ("databricks_key", "dose", _HEX, 32), ("prefect_key", "pnu_", _WORD, 20),
    ("prefect_key", "pnb_", _WORD, 20),
    ("e2b_key", "e2b_", _HEX, 30), ("firecrawl_key", "fc-", _HEX, 30),
    ("modal_key", "ak-", _WORD, 20), ("modal_key", "as-", _WORD, 20),
    ("elevenlabs_key", "sk_", _HEX, 40), ("apify_key", "apify_api_", _WORD, 20),
    ("openrouter_key", "sk-or-v1-", _HEX, 20), ("neptune_key", "eyJhcGlfYWRkcmVzcyI6", _B64, 20),
    # Clouds, stores and databases.
    ("aws_bedrock_key", "ABSK", _B64, 40), ("aws_bedrock_key", "bedrock-api-key-", _B64, 20),
    ("google_key", "AIza", _URL, 30), ("google_key", "ya29.", _DOT, 20),
    ("google_key", "GOCSPX-", _URL, 20), ("google_key", "1//0", _URL, 30),
    ("alibaba_key", "LTAI", _WORD, 16), ("tencent_key", "AKID", _WORD, 28),
    ("volcengine_key", "AKLT", _B64, 30), ("baidu_key", "bce-v3/ALTAK-", _B64, 20),
    ("yandex_key", "t1.", _DOT, 60), ("yandex_key", "AQVN", _URL, 30),
    ("yandex_key", "y0_", _URL, 40), ("yandex_key", "YCAJE", _URL, 18),
    ("yandex_key", "YCP", _URL, 36), ("digitalocean_key", "dop_v1_", _HEX, 20),
    ("digitalocean_key", "doo_v1_", _HEX, 20), ("digitalocean_key", "dor_v1_", _HEX, 20),
    ("cloudflare_key", "v1.0-", _HEX, 60), ("cloudflare_key", "cfat_", _WORD, 30),
    ("cloudflare_key", "cfut_", _WORD, 30), ("cloudflare_key", "cfk_", _WORD, 30),
    ("fly_token", "fo1_", _URL, 30), ("fly_token", "fm1r_", _B64, 40),
    ("fly_token", "fm1a_", _B64, 40), ("fly_token", "fm2_", _B64, 40),
    ("heroku_key", "HRKU-", _URL, 30), ("netlify_key", "nfp_", _WORD, 30),
    ("vercel_key", "vercel_blob_rw_", _URL, 20), ("vercel_key", "vcp_", _WORD, 20),
    ("vercel_key", "vca_", _WORD, 20), ("supabase_key", "sbp_", _HEX, 30),
    ("supabase_key", "sb_secret_", _URL, 20), ("planetscale_key", "pscale_tkn_", _DOT, 20),
    ("planetscale_key", "pscale_oauth_", _DOT, 20), ("planetscale_key", "pscale_pw_", _DOT, 20),
    ("clickhouse_key", "4b1d", _WORD, 38), ("cockroach_key", "CCDB1_", _URL, 20),
    ("scaleway_key", "SCW", _WORD, 17), ("openshift_token", "sha256~", _URL, 30),
    ("tailscale_key", "tskey-", _URL, 16), ("defined_key", "dnkey-", _URL, 40),
    ("vault_token", "hvs.", _DOT, 20), ("vault_token", "hvb.", _DOT, 20),
    ("vault_token", "hvr.", _DOT, 20), ("doppler_key", "dp.pt.", _WORD, 30),
    ("doppler_key", "dp.st.", _DOT, 30), ("doppler_key", "dp.ct.", _WORD, 30),
    ("doppler_key", "dp.sa.", _WORD, 30), ("doppler_key", "dp.scim.", _WORD, 30),
    ("doppler_key", "dp.audit.", _WORD, 30), ("1password_key", "ops_eyJ", _B64, 40),
    ("age_key", "AGE-SECRET-KEY-1", _WORD, 40), ("age_key", "AGE-PLUGIN-", _URL, 20),
    ("jwt", "ZXlK", _B64, 40), ("docker_key", "dckr_pat_", _URL, 20),
    ("docker_key", "dckr_oat_", _URL, 20), ("munge_credential", "MUNGE:", _B64, 24),
    ("pulumi_key", "pul-", _HEX, 30), ("infracost_key", "ico-", _WORD, 30),
    ("artifactory_key", "AKCp", _WORD, 40), ("artifactory_key", "cmVmd", _WORD, 40),
    ("ngrok_key", "ak_", _WORD, 26), ("influx_key", "apiv3_", _URL, 30),
    # Code and builds.
    ("github_token", "ghp_", _WORD, 20), ("github_token", "gho_", _WORD, 20),
    ("github_token", "ghu_", _WORD, 20), ("github_token", "ghs_", _WORD, 20),
    ("github_token", "ghr_", _WORD, 20), ("github_token", "github_pat_", _URL, 20),
    *(
        ("gitlab_token", f"gl{kind}-", _DOT, 16)
        for kind in ("pat", "dt", "rt", "cbt", "ptt", "ffct", "ft", "imt", "agent", "oas", "soat", "wt")  # noqa: E501
    ),
    ("gitlab_token", "GR1348941", _URL, 18), ("bitbucket_token", "ATBB", _URL, 20),
    ("bitbucket_token", "BBDC-", _B64, 30), ("atlassian_token", "ATATT3", _B64, 40),
    ("atlassian_token", "ATCTT3", _B64, 40), ("npm_token", "npm_", _WORD, 30),
    ("pypi_token", "pypi-", _URL, 32), ("rubygems_key", "rubygems_", _HEX, 30),
    ("clojars_token", "CLOJARS_", _WORD, 40), ("circleci_token", "CCIPAT_", _URL, 30),
    ("circleci_token", "CCIPRJ_", _URL, 30), ("buildkite_token", "bkua_", _WORD, 30),
    ("buildkite_token", "bkct_", _URL, 30), ("sourcegraph_token", "sgp_", _URL, 30),
    ("sourcegraph_token", "slk_", _HEX, 40), ("sonar_token", "squ_", _HEX, 30),
    ("sonar_token", "sqp_", _HEX, 30), ("sonar_token", "sqa_", _HEX, 30),
    ("postman_key", "PMAK-", _HEX, 30), ("postman_key", "PMAT-", _WORD, 20),
    ("nuget_key", "oy2", _WORD, 43), ("octopus_key", "API-", _WORD, 25),
    ("launchdarkly_key", "sdk-", _HEX, 32), ("launchdarkly_key", "mob-", _HEX, 32),
    ("launchdarkly_key", "api-", _HEX, 32), ("figma_token", "figd_", _URL, 30),
    ("figma_token", "figp_", _URL, 30), ("terraform_key", "tfe_", _URL, 30),
    ("devcycle_key", "dvc_", _URL, 30), ("unkey_key", "unkey_", _WORD, 15),
    # Messages, alarms and people's tools.
    ("slack_token", "xoxe.xox", _URL, 20), ("slack_token", "xoxe-", _URL, 20),
    ("slack_token", "xapp-", _URL, 10), ("sendgrid_key", "SG.", _DOT, 30),
    ("brevo_key", "xkeysib-", _URL, 30), ("brevo_key", "xsmtpsib-", _URL, 30),
    ("mailgun_key", "key-", _HEX, 32), ("mailgun_key", "pubkey-", _HEX, 32),
    ("sentry_token", "sntrys_", _B64, 30), ("sentry_token", "sntryu_", _HEX, 30),
    ("sentry_token", "sntrya_", _HEX, 30), ("grafana_key", "glc_", _B64, 30),
    ("grafana_key", "glsa_", _URL, 30), ("grafana_key", "eyJrIjoi", _B64, 30),
    ("dynatrace_key", "dt0c01.", _DOT, 30), ("dynatrace_key", "dt0s01.", _DOT, 30),
    ("dynatrace_key", "dt0s02.", _DOT, 30), ("dynatrace_key", "dt0s16.", _DOT, 30),
    ("new_relic_key", "NRAK-", _WORD, 20), ("new_relic_key", "NRII-", _URL, 20),
    ("new_relic_key", "NRIQ-", _URL, 20), ("new_relic_key", "NRJS-", _HEX, 16),
    ("new_relic_key", "NRBR-", _HEX, 16), ("rootly_key", "rootly_", _HEX, 30),
    ("linear_key", "lin_api_", _WORD, 30), ("linear_key", "lin_oauth_", _WORD, 30),
    ("notion_key", "ntn_", _WORD, 30), ("notion_key", "secret_", _WORD, 40),
    ("typeform_key", "tfp_", _DOT, 30),
    ("readme_key", "rdme_", _WORD, 40), ("posthog_key", "phx_", _URL, 30),
    ("posthog_key", "phc_", _URL, 30), ("contentful_key", "CFPAT-", _URL, 30),
    ("dropbox_key", "sl.", _DOT, 60), ("adafruit_key", "aio_", _WORD, 24),
    ("wakatime_key", "waka_", _HEX, 30), ("frameio_key", "fio-u-", _DOT, 30),
    ("hubspot_key", "pat-na1-", _HEX, 30),
    ("hubspot_key", "pat-eu1-", _HEX, 30), ("hubspot_key", "pat-na2-", _HEX, 30),
    ("telnyx_key", "KEY01", _URL, 40), ("scalingo_key", "tk-us-", _URL, 30),
    ("intra42_key", "s-s4t2ud-", _HEX, 30), ("intra42_key", "s-s4t2af-", _HEX, 30),
    ("intra42_key", "u-s4t2ud-", _HEX, 30), ("intra42_key", "u-s4t2af-", _HEX, 30),
    ("adobe_key", "p8e-", _WORD, 28), ("authress_key", "sc_", _DOT, 60),
    ("authress_key", "authress_", _DOT, 60),
    ("settlemint_key", "sm_aat_", _WORD, 14), ("settlemint_key", "sm_pat_", _WORD, 14),
    ("settlemint_key", "sm_sat_", _WORD, 14), ("samsara_key", "samsara_api_", _WORD, 20),
    ("alchemy_key", "alcht_", _WORD, 24), ("appsync_key", "da2-", _WORD, 24),
    ("ubidots_key", "BBFF-", _WORD, 24), ("netflix_key", "NF-", _WORD, 30),
    ("zuplo_key", "zpka_", _URL, 20),
    ("polar_key", "polar_oat_", _URL, 20), ("valtown_key", "vtwn_", _WORD, 20),
    ("flexport_key", "shltm_", _URL, 30), ("pubnub_key", "sec-c-", _B64, 30),
    # Money.
    ("stripe_key", "sk_live_", _WORD, 10), ("stripe_key", "sk_test_", _WORD, 10),
    ("stripe_key", "rk_live_", _WORD, 10), ("stripe_key", "rk_test_", _WORD, 10),
    ("stripe_key", "sk_prod_", _WORD, 10), ("stripe_key", "rk_prod_", _WORD, 10),
    ("stripe_key", "pk_live_", _WORD, 20), ("shopify_key", "shpat_", _HEX, 20),
    ("shopify_key", "shpca_", _HEX, 20), ("shopify_key", "shppa_", _HEX, 20),
    ("shopify_key", "shpss_", _HEX, 20), ("square_key", "sq0atp-", _URL, 20),
    ("square_key", "sq0csp-", _URL, 20), ("square_key", "sq0idp-", _URL, 20),
    ("square_key", "sqco_", _WORD, 30), ("easypost_key", "EZAK", _WORD, 40),
    ("easypost_key", "EZTK", _WORD, 40), ("razorpay_key", "rzp_live_", _WORD, 12),
    ("razorpay_key", "rzp_test_", _WORD, 12), ("duffel_key", "duffel_", _URL, 30),
    ("shippo_key", "shippo_", _URL, 30), ("flutterwave_key", "FLWSECK", _URL, 14),
    ("flutterwave_key", "FLWPUBK", _URL, 14), ("ramp_key", "ramp_sec_", _WORD, 30),
    ("ramp_key", "ramp_id_", _WORD, 30), ("salesforce_key", "3MVG9", _DOT, 60),
    ("facebook_token", "EAA", _WORD, 40),
)  # fmt: skip
# Beyond the first of them a prefix stands alone, and a name may run into it.
_DISTINCT: Final = 7
_MOST: Final = 4096
# Rarer than the first four characters of the prefix.
_GATES: Final = {
    "github_pat_": "_pat", "pscale_tkn_": "_tkn", "secret_": "ret_", "rootly_": "tly_",
    "dop_v1_": "p_v1", "doo_v1_": "o_v1", "dor_v1_": "r_v1", "GR1348941": "8941",
    "ATATT3": "att3", "ATCTT3": "ctt3", "AGE-SECRET-KEY-1": "ey-1", "AGE-PLUGIN-": "e-pl",
    "shippo_": "ppo_", "salad_cloud_": "lad_", "pscale_oauth_": "le_o", "pscale_pw_": "e_pw",
    "samsara_api_": "ara_", "apify_api_": "ify_", "bedrock-api-key-": "ock-", "MUNGE:": "nge:",
    "polar_oat_": "_oat", "vercel_blob_rw_": "b_rw", "duffel_": "fel_",
    "unkey_": "key_", "rubygems_": "ems_",
}  # fmt: skip
# What ends an escape or a percent code before a short prefix: `\nhf_...`, `%3Dhf_...`.
_ESCAPED: Final = "nrtd02a"


def _list_gates(prefix: str) -> tuple[str, ...]:
    """The four bytes of a prefix; of three, with what may stand before it."""
    if len(prefix) >= 4:
        return (_GATES.get(prefix, prefix[:4]).lower(),)
    return tuple(f"{before}{prefix}".lower() for before in f"~{_ESCAPED}")


def _prefixed(kind: str, prefix: str, chars: str, least: int) -> Secret:
    start = b"" if len(prefix) >= _DISTINCT else WORD_START
    tail = _CHARS[chars] + b"{%d,%d}" % (least, _MOST)
    pattern = start + re.escape(prefix.encode()) + b"(?P<tail>" + tail + b")"
    return make_secret(kind, pattern, *_list_gates(prefix), check=_has_random_tail)


def _has_random_tail(found: re.Match[bytes]) -> bool:
    return is_random(found["tail"])


def _has_mixed_tail(found: re.Match[bytes]) -> bool:
    return is_mixed(found["tail"])


# A prefix that nobody has listed: acme_live_..., dckr_pat_..., foo-api-...
_MARKED: Final = (
    WORD_START + rb"[A-Za-z][A-Za-z0-9]{0,15}[_-](?:[A-Za-z0-9]{1,12}[_-]){0,2}?"
    rb"(?:live|test|prod|pat|api|sk|key|tok|token|secret|sec|oauth|oat|sat|rt)[_-]"
    rb"(?:[A-Za-z0-9]{1,8}[_-]){0,2}(?P<tail>[A-Za-z0-9]{20,255})"
)
_UUID: Final = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

PREFIXED: Final = (
    *(_prefixed(*row) for row in _ROWS),
    make_secret(
        "api_key",
        _MARKED,
        "rod_",
        "rod-",
        "pat_",
        "pat-",
        "api_",
        "api-",
        "key_",
        "key-",
        "tok_",
        "ken_",
        "ken-",
        "ret_",
        "ret-",
        "sec_",
        "oat_",
        "_sk_",
        "sat_",
        "uth_",
        "_rt_",
        check=_has_mixed_tail,
    ),
    make_secret("1password_key", rb"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}" + WORD_END, "~a3-"),
    make_secret("airtable_key", WORD_START + rb"pat[A-Za-z0-9]{14}\.[a-f0-9]{32,64}", "~pat"),
    make_secret(
        "azure_key",
        rb"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,40}",
        *(f"{digit}q~{more}" for digit in "78" for more in "abcdefghijklmnopqrstuvwxyz0123456789"),
    ),
    make_secret(
        "azure_key",
        rb"[A-Za-z0-9+/]{20,80}(?:JQQJ99|\+ACR|\+ASt|\+AMC|AzSe|AzFu|\+AIo|APIM)"
        rb"[A-Za-z0-9+/]{4,32}={0,2}",
        "jqqj",
        "+acr",
        "+ast",
        "+amc",
        "azse",
        "azfu",
        "+aio",
        "apim",
        check=lambda found: is_mixed(found[0]),
    ),
    make_secret(
        "discord_token",
        WORD_START + rb"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\."
        rb"[A-Za-z0-9_-]{27,40}",
        "~mta",
        "~mtm",
        "~mty",
        "~mtq",
        "~mtu",
        "~odk",
        "~odg",
        "~nzg",
        "~nzk",
        "~ndk",
        "~nta",
        "~njc",
        "~mji",
        "~mzq",
        "~mty",
        "~mti",
        "~nja",
    ),
    make_secret("firebase_key", rb"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{30,255}", "apa9"),
    make_secret(
        "harness_key",
        rb"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
        "pat.",
        "sat.",
    ),
    make_secret("terraform_key", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}", "atla"),
    make_secret(
        "mailchimp_key",
        WORD_START + rb"[0-9a-f]{32}-us[0-9]{1,2}" + WORD_END,
        *(f"-us{digit}" for digit in range(10)),
    ),
    make_secret("maxmind_key", rb"[A-Za-z0-9]{6}_[A-Za-z0-9]{20,40}_mmk", "_mmk"),
    make_secret(
        "new_relic_key", rb"[0-9a-fxAe]{20,42}-NRMA|[0-9a-fx]{20,36}FFFFNRAL", "nrma", "nral"
    ),
    make_secret(
        "telegram_token",
        WORD_START + rb"[0-9]{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])",
        *(f"{digit}:aa" for digit in range(10)),
    ),
    make_secret(
        "teams_webhook",
        rb"/webhookb?2?/(?P<s>"
        + _UUID
        + rb"@"
        + _UUID
        + rb"/IncomingWebhook/[A-Za-z0-9/_-]{20,120})",
        "hook",
    ),
    make_secret(
        "discord_webhook", rb"/api/webhooks/(?P<s>[0-9]{10,24}/[A-Za-z0-9_-]{20,120})", "hook"
    ),
    make_secret("webhook", rb"hooks\.zapier\.com/hooks/catch/(?P<s>[A-Za-z0-9/]{8,60})", "hook"),
    make_secret("webhook", rb"\.tines\.com/webhook/(?P<s>[A-Za-z0-9/]{20,120})", "hook"),
    make_secret(
        "webhook",
        rb"(?:chat\.googleapis\.com/v1/spaces|open\.(?:feishu|larksuite)\.(?:cn|com)/"
        rb"open-apis/bot/v2/hook|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=)/?"
        rb"(?P<s>[^\s\"']{12,300})",
        "goog",
        "-api",
        "hook",
    ),
    make_secret(
        "sentry_dsn", rb"https?://(?P<s>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[A-Za-z0-9.-]{3,255}/"
    ),
    make_secret(
        "twilio_key",
        WORD_START + rb"SK[0-9a-f]{32}" + WORD_END,
        *(f"sk{a}{b}" for a in "0123456789abcdef" for b in "0123456789abcdef"),
    ),
    make_secret(
        "crypt_hash",
        rb"(?P<s>\$(?:[1567y]|2[abxy]|apr1|gy|sha1|argon2(?:id|i|d))\$"
        rb"[./A-Za-z0-9,=$+-]{16,256})",
        "~$1$",
        "~$5$",
        "~$6$",
        "~$7$",
        "~$y$",
        "$2a$",
        "$2b$",
        "$2y$",
        "$2x$",
        "apr1",
        "$gy$",
        "gon2",
        "$sha",
    ),
    make_secret(
        "password_hash",
        rb"\{S?SHA(?:256|384|512)?\}(?P<s>[A-Za-z0-9+/=]{20,200})",
        "sha}",
        "ha25",
        "ha51",
        "ha38",
    ),
    make_secret("password_hash", rb"pbkdf2_sha\d{1,3}\$\d{1,9}\$(?P<s>[^\s\"']{8,200})", "pbkd"),
    make_secret(
        "password_hash", rb"SCRAM-SHA-\d{1,3}\$(?P<s>\d{1,6}:[A-Za-z0-9+/=$:]{16,300})", "ram-"
    ),
)
