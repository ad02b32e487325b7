"""Tokens with a prefix of their own, as their issuers publish it, one row each.

Sources: the lists of fixed prefixes that gitleaks, trufflehog and GitHub's secret scanning
publish, and the issuers' own pages. A row is a fact: what a token begins with, which
characters follow, and how many there are at least. A shorter one is taken, too, where it
cannot be anything else, since logs cut lines.
"""

import re
from typing import Final

from triage.parsers.redact.secret import WORD_END, WORD_START, Secret, is_mixed, is_random, secret

__all__ = ["PREFIXED"]

# What follows a prefix: letters and digits; also `-` and `_`; hex digits; base64; with dots.
WORD, URL, HEX, B64, DOT = "word", "url", "hex", "base64", "dot"
CHARS: Final = {
    WORD: rb"[A-Za-z0-9]",
    URL: rb"[A-Za-z0-9_-]",
    HEX: rb"[A-Fa-f0-9-]",
    B64: rb"[A-Za-z0-9+/=_-]",
    DOT: rb"[A-Za-z0-9+/=_.,-]",
}
ROWS: Final = (
    # Trainers, models and what runs them.
    ("nvidia_key", "nvapi-", URL, 20), ("hf_token", "hf_", WORD, 20),
    ("hf_token", "api_org_", WORD, 20), ("wandb_key", "wandb_v1_", URL, 20),
    ("groq_key", "gsk_", WORD, 20), ("perplexity_key", "pplx-", WORD, 20),
    ("xai_key", "xai-", URL, 30), ("replicate_key", "r8_", URL, 30),
    ("runpod_key", "rpa_", WORD, 20), ("fireworks_key", "fw_", WORD, 20),
    ("together_key", "tgp_v1_", URL, 20), ("anyscale_key", "esecret_", WORD, 15),
    ("langsmith_key", "lsv2_", URL, 20), ("langfuse_key", "sk-lf-", HEX, 20),
    ("langfuse_key", "pk-lf-", HEX, 20), ("pinecone_key", "pcsk_", URL, 20),
    ("jina_key", "jina_", URL, 20), ("tavily_key", "tvly-", URL, 20),
    ("voyage_key", "pa-", URL, 40), ("salad_key", "salad_cloud_", URL, 20),
    ("coreweave_key", "CW-SECRET-", WORD, 20), ("databricks_key", "dapi", HEX, 32),
    ("databricks_key", "dose", HEX, 32), ("prefect_key", "pnu_", WORD, 20),
    ("prefect_key", "pnb_", WORD, 20),
    ("e2b_key", "e2b_", HEX, 30), ("firecrawl_key", "fc-", HEX, 30),
    ("modal_key", "ak-", WORD, 20), ("modal_key", "as-", WORD, 20),
    ("elevenlabs_key", "sk_", HEX, 40), ("apify_key", "apify_api_", WORD, 20),
    ("openrouter_key", "sk-or-v1-", HEX, 20), ("neptune_key", "eyJhcGlfYWRkcmVzcyI6", B64, 20),
    # Clouds, stores and databases.
    ("aws_bedrock_key", "ABSK", B64, 40), ("aws_bedrock_key", "bedrock-api-key-", B64, 20),
    ("google_key", "AIza", URL, 30), ("google_key", "ya29.", DOT, 20),
    ("google_key", "GOCSPX-", URL, 20), ("google_key", "1//0", URL, 30),
    ("alibaba_key", "LTAI", WORD, 16), ("tencent_key", "AKID", WORD, 28),
    ("volcengine_key", "AKLT", B64, 30), ("baidu_key", "bce-v3/ALTAK-", B64, 20),
    ("yandex_key", "t1.", DOT, 60), ("yandex_key", "AQVN", URL, 30),
    ("yandex_key", "y0_", URL, 40), ("yandex_key", "YCAJE", URL, 18),
    ("yandex_key", "YCP", URL, 36), ("digitalocean_key", "dop_v1_", HEX, 20),
    ("digitalocean_key", "doo_v1_", HEX, 20), ("digitalocean_key", "dor_v1_", HEX, 20),
    ("cloudflare_key", "v1.0-", HEX, 60), ("cloudflare_key", "cfat_", WORD, 30),
    ("cloudflare_key", "cfut_", WORD, 30), ("cloudflare_key", "cfk_", WORD, 30),
    ("fly_token", "fo1_", URL, 30), ("fly_token", "fm1r_", B64, 40),
    ("fly_token", "fm1a_", B64, 40), ("fly_token", "fm2_", B64, 40),
    ("heroku_key", "HRKU-", URL, 30), ("netlify_key", "nfp_", WORD, 30),
    ("vercel_key", "vercel_blob_rw_", URL, 20), ("vercel_key", "vcp_", WORD, 20),
    ("vercel_key", "vca_", WORD, 20), ("supabase_key", "sbp_", HEX, 30),
    ("supabase_key", "sb_secret_", URL, 20), ("planetscale_key", "pscale_tkn_", DOT, 20),
    ("planetscale_key", "pscale_oauth_", DOT, 20), ("planetscale_key", "pscale_pw_", DOT, 20),
    ("clickhouse_key", "4b1d", WORD, 38), ("cockroach_key", "CCDB1_", URL, 20),
    ("scaleway_key", "SCW", WORD, 17), ("openshift_token", "sha256~", URL, 30),
    ("tailscale_key", "tskey-", URL, 16), ("defined_key", "dnkey-", URL, 40),
    ("vault_token", "hvs.", DOT, 20), ("vault_token", "hvb.", DOT, 20),
    ("vault_token", "hvr.", DOT, 20), ("doppler_key", "dp.pt.", WORD, 30),
    ("doppler_key", "dp.st.", DOT, 30), ("doppler_key", "dp.ct.", WORD, 30),
    ("doppler_key", "dp.sa.", WORD, 30), ("doppler_key", "dp.scim.", WORD, 30),
    ("doppler_key", "dp.audit.", WORD, 30), ("1password_key", "ops_eyJ", B64, 40),
    ("age_key", "AGE-SECRET-KEY-1", WORD, 40), ("age_key", "AGE-PLUGIN-", URL, 20),
    ("jwt", "ZXlK", B64, 40), ("docker_key", "dckr_pat_", URL, 20),
    ("docker_key", "dckr_oat_", URL, 20), ("munge_credential", "MUNGE:", B64, 24),
    ("pulumi_key", "pul-", HEX, 30), ("infracost_key", "ico-", WORD, 30),
    ("artifactory_key", "AKCp", WORD, 40), ("artifactory_key", "cmVmd", WORD, 40),
    ("ngrok_key", "ak_", WORD, 26), ("influx_key", "apiv3_", URL, 30),
    # Code and builds.
    ("github_token", "ghp_", WORD, 20), ("github_token", "gho_", WORD, 20),
    ("github_token", "ghu_", WORD, 20), ("github_token", "ghs_", WORD, 20),
    ("github_token", "ghr_", WORD, 20), ("github_token", "github_pat_", URL, 20),
    *(
        ("gitlab_token", f"gl{kind}-", DOT, 16)
        for kind in ("pat", "dt", "rt", "cbt", "ptt", "ffct", "ft", "imt", "agent", "oas", "soat", "wt")  # noqa: E501
    ),
    ("gitlab_token", "GR1348941", URL, 18), ("bitbucket_token", "ATBB", URL, 20),
    ("bitbucket_token", "BBDC-", B64, 30), ("atlassian_token", "ATATT3", B64, 40),
    ("atlassian_token", "ATCTT3", B64, 40), ("npm_token", "npm_", WORD, 30),
    ("pypi_token", "pypi-", URL, 32), ("rubygems_key", "rubygems_", HEX, 30),
    ("clojars_token", "CLOJARS_", WORD, 40), ("circleci_token", "CCIPAT_", URL, 30),
    ("circleci_token", "CCIPRJ_", URL, 30), ("buildkite_token", "bkua_", WORD, 30),
    ("buildkite_token", "bkct_", URL, 30), ("sourcegraph_token", "sgp_", URL, 30),
    ("sourcegraph_token", "slk_", HEX, 40), ("sonar_token", "squ_", HEX, 30),
    ("sonar_token", "sqp_", HEX, 30), ("sonar_token", "sqa_", HEX, 30),
    ("postman_key", "PMAK-", HEX, 30), ("postman_key", "PMAT-", WORD, 20),
    ("nuget_key", "oy2", WORD, 43), ("octopus_key", "API-", WORD, 25),
    ("launchdarkly_key", "sdk-", HEX, 32), ("launchdarkly_key", "mob-", HEX, 32),
    ("launchdarkly_key", "api-", HEX, 32), ("figma_token", "figd_", URL, 30),
    ("figma_token", "figp_", URL, 30), ("terraform_key", "tfe_", URL, 30),
    ("devcycle_key", "dvc_", URL, 30), ("unkey_key", "unkey_", WORD, 15),
    # Messages, alarms and people's tools.
    ("slack_token", "xoxe.xox", URL, 20), ("slack_token", "xoxe-", URL, 20),
    ("slack_token", "xapp-", URL, 10), ("sendgrid_key", "SG.", DOT, 30),
    ("brevo_key", "xkeysib-", URL, 30), ("brevo_key", "xsmtpsib-", URL, 30),
    ("mailgun_key", "key-", HEX, 32), ("mailgun_key", "pubkey-", HEX, 32),
    ("sentry_token", "sntrys_", B64, 30), ("sentry_token", "sntryu_", HEX, 30),
    ("sentry_token", "sntrya_", HEX, 30), ("grafana_key", "glc_", B64, 30),
    ("grafana_key", "glsa_", URL, 30), ("grafana_key", "eyJrIjoi", B64, 30),
    ("dynatrace_key", "dt0c01.", DOT, 30), ("dynatrace_key", "dt0s01.", DOT, 30),
    ("dynatrace_key", "dt0s02.", DOT, 30), ("dynatrace_key", "dt0s16.", DOT, 30),
    ("new_relic_key", "NRAK-", WORD, 20), ("new_relic_key", "NRII-", URL, 20),
    ("new_relic_key", "NRIQ-", URL, 20), ("new_relic_key", "NRJS-", HEX, 16),
    ("new_relic_key", "NRBR-", HEX, 16), ("rootly_key", "rootly_", HEX, 30),
    ("linear_key", "lin_api_", WORD, 30), ("linear_key", "lin_oauth_", WORD, 30),
    ("notion_key", "ntn_", WORD, 30), ("notion_key", "secret_", WORD, 40),
    ("typeform_key", "tfp_", DOT, 30),
    ("readme_key", "rdme_", WORD, 40), ("posthog_key", "phx_", URL, 30),
    ("posthog_key", "phc_", URL, 30), ("contentful_key", "CFPAT-", URL, 30),
    ("dropbox_key", "sl.", DOT, 60), ("adafruit_key", "aio_", WORD, 24),
    ("wakatime_key", "waka_", HEX, 30), ("frameio_key", "fio-u-", DOT, 30),
    ("hubspot_key", "pat-na1-", HEX, 30),
    ("hubspot_key", "pat-eu1-", HEX, 30), ("hubspot_key", "pat-na2-", HEX, 30),
    ("telnyx_key", "KEY01", URL, 40), ("scalingo_key", "tk-us-", URL, 30),
    ("intra42_key", "s-s4t2ud-", HEX, 30), ("intra42_key", "s-s4t2af-", HEX, 30),
    ("intra42_key", "u-s4t2ud-", HEX, 30), ("intra42_key", "u-s4t2af-", HEX, 30),
    ("adobe_key", "p8e-", WORD, 28), ("authress_key", "sc_", DOT, 60),
    ("authress_key", "authress_", DOT, 60),
    ("settlemint_key", "sm_aat_", WORD, 14), ("settlemint_key", "sm_pat_", WORD, 14),
    ("settlemint_key", "sm_sat_", WORD, 14), ("samsara_key", "samsara_api_", WORD, 20),
    ("alchemy_key", "alcht_", WORD, 24), ("appsync_key", "da2-", WORD, 24),
    ("ubidots_key", "BBFF-", WORD, 24), ("netflix_key", "NF-", WORD, 30),
    ("zuplo_key", "zpka_", URL, 20),
    ("polar_key", "polar_oat_", URL, 20), ("valtown_key", "vtwn_", WORD, 20),
    ("flexport_key", "shltm_", URL, 30), ("pubnub_key", "sec-c-", B64, 30),
    # Money.
    ("stripe_key", "sk_live_", WORD, 10), ("stripe_key", "sk_test_", WORD, 10),
    ("stripe_key", "rk_live_", WORD, 10), ("stripe_key", "rk_test_", WORD, 10),
    ("stripe_key", "sk_prod_", WORD, 10), ("stripe_key", "rk_prod_", WORD, 10),
    ("stripe_key", "pk_live_", WORD, 20), ("shopify_key", "shpat_", HEX, 20),
    ("shopify_key", "shpca_", HEX, 20), ("shopify_key", "shppa_", HEX, 20),
    ("shopify_key", "shpss_", HEX, 20), ("square_key", "sq0atp-", URL, 20),
    ("square_key", "sq0csp-", URL, 20), ("square_key", "sq0idp-", URL, 20),
    ("square_key", "sqco_", WORD, 30), ("easypost_key", "EZAK", WORD, 40),
    ("easypost_key", "EZTK", WORD, 40), ("razorpay_key", "rzp_live_", WORD, 12),
    ("razorpay_key", "rzp_test_", WORD, 12), ("duffel_key", "duffel_", URL, 30),
    ("shippo_key", "shippo_", URL, 30), ("flutterwave_key", "FLWSECK", URL, 14),
    ("flutterwave_key", "FLWPUBK", URL, 14), ("ramp_key", "ramp_sec_", WORD, 30),
    ("ramp_key", "ramp_id_", WORD, 30), ("salesforce_key", "3MVG9", DOT, 60),
    ("facebook_token", "EAA", WORD, 40),
)  # fmt: skip
# Beyond the first of them a prefix stands alone, and a name may run into it.
DISTINCT: Final = 7
MOST: Final = 4096
# Rarer than the first four characters of the prefix.
GATES: Final = {
    "github_pat_": "_pat", "pscale_tkn_": "_tkn", "secret_": "ret_", "rootly_": "tly_",
    "dop_v1_": "p_v1", "doo_v1_": "o_v1", "dor_v1_": "r_v1", "GR1348941": "8941",
    "ATATT3": "att3", "ATCTT3": "ctt3", "AGE-SECRET-KEY-1": "ey-1", "AGE-PLUGIN-": "e-pl",
    "shippo_": "ppo_", "salad_cloud_": "lad_", "pscale_oauth_": "le_o", "pscale_pw_": "e_pw",
    "samsara_api_": "ara_", "apify_api_": "ify_", "bedrock-api-key-": "ock-", "MUNGE:": "nge:",
    "polar_oat_": "_oat", "vercel_blob_rw_": "b_rw", "duffel_": "fel_",
    "unkey_": "key_", "rubygems_": "ems_",
}  # fmt: skip
# What ends an escape or a percent code before a short prefix: `\nhf_...`, `%3Dhf_...`.
ESCAPED: Final = "nrtd02a"


def gates_of(prefix: str) -> tuple[str, ...]:
    """The four bytes of a prefix; of three, with what may stand before it."""
    if len(prefix) >= 4:
        return (GATES.get(prefix, prefix[:4]).lower(),)
    return tuple(f"{before}{prefix}".lower() for before in f"~{ESCAPED}")


def prefixed(kind: str, prefix: str, chars: str, least: int) -> Secret:
    start = b"" if len(prefix) >= DISTINCT else WORD_START
    tail = CHARS[chars] + b"{%d,%d}" % (least, MOST)
    pattern = start + re.escape(prefix.encode()) + b"(?P<tail>" + tail + b")"
    return secret(kind, pattern, *gates_of(prefix), check=random_tail)


def random_tail(found: re.Match[bytes]) -> bool:
    return is_random(found["tail"])


def mixed_tail(found: re.Match[bytes]) -> bool:
    return is_mixed(found["tail"])


# A prefix that nobody has listed: acme_live_..., dckr_pat_..., foo-api-...
MARKED: Final = (
    WORD_START + rb"[A-Za-z][A-Za-z0-9]{0,15}[_-](?:[A-Za-z0-9]{1,12}[_-]){0,2}?"
    rb"(?:live|test|prod|pat|api|sk|key|tok|token|secret|sec|oauth|oat|sat|rt)[_-]"
    rb"(?:[A-Za-z0-9]{1,8}[_-]){0,2}(?P<tail>[A-Za-z0-9]{20,255})"
)
UUID: Final = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

PREFIXED: Final = (
    *(prefixed(*row) for row in ROWS),
    secret("api_key", MARKED, "rod_", "rod-", "pat_", "pat-", "api_",
           "api-", "key_", "key-", "tok_", "ken_", "ken-", "ret_", "ret-", "sec_", "oat_", "_sk_",
           "sat_", "uth_", "_rt_", check=mixed_tail),
    secret("1password_key", rb"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}" + WORD_END, "~a3-"),
    secret("airtable_key", WORD_START + rb"pat[A-Za-z0-9]{14}\.[a-f0-9]{32,64}", "~pat"),
    secret("azure_key", rb"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,40}",
           *(f"{digit}q~{more}" for digit in "78" for more in "abcdefghijklmnopqrstuvwxyz0123456789")),  # noqa: E501
    secret("azure_key", rb"[A-Za-z0-9+/]{20,80}(?:JQQJ99|\+ACR|\+ASt|\+AMC|AzSe|AzFu|\+AIo|APIM)"
           rb"[A-Za-z0-9+/]{4,32}={0,2}", "jqqj", "+acr", "+ast", "+amc", "azse", "azfu", "+aio",
           "apim", check=lambda found: is_mixed(found[0])),
    secret("discord_token", WORD_START + rb"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\."
           rb"[A-Za-z0-9_-]{27,40}", "~mta", "~mtm", "~mty", "~mtq", "~mtu", "~odk", "~odg",
           "~nzg", "~nzk", "~ndk", "~nta", "~njc", "~mji", "~mzq", "~mty", "~mti", "~nja"),
    secret("firebase_key", rb"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{30,255}", "apa9"),
    secret("harness_key", rb"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
           "pat.", "sat."),
    secret("terraform_key", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}", "atla"),
    secret("mailchimp_key", WORD_START + rb"[0-9a-f]{32}-us[0-9]{1,2}" + WORD_END,
           *(f"-us{digit}" for digit in range(10))),
    secret("maxmind_key", rb"[A-Za-z0-9]{6}_[A-Za-z0-9]{20,40}_mmk", "_mmk"),
    secret("new_relic_key", rb"[0-9a-fxAe]{20,42}-NRMA|[0-9a-fx]{20,36}FFFFNRAL", "nrma", "nral"),
    secret("telegram_token", WORD_START + rb"[0-9]{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])",
           *(f"{digit}:aa" for digit in range(10))),
    secret("teams_webhook", rb"/webhookb?2?/(?P<s>" + UUID + rb"@" + UUID
           + rb"/IncomingWebhook/[A-Za-z0-9/_-]{20,120})", "hook"),
    secret("discord_webhook", rb"/api/webhooks/(?P<s>[0-9]{10,24}/[A-Za-z0-9_-]{20,120})", "hook"),
    secret("webhook", rb"hooks\.zapier\.com/hooks/catch/(?P<s>[A-Za-z0-9/]{8,60})", "hook"),
    secret("webhook", rb"\.tines\.com/webhook/(?P<s>[A-Za-z0-9/]{20,120})", "hook"),
    secret("webhook", rb"(?:chat\.googleapis\.com/v1/spaces|open\.(?:feishu|larksuite)\.(?:cn|com)/"
           rb"open-apis/bot/v2/hook|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=)/?"
           rb"(?P<s>[^\s\"']{12,300})", "goog", "-api", "hook"),
    secret("sentry_dsn", rb"https?://(?P<s>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[A-Za-z0-9.-]{3,255}/"),
    secret("twilio_key", WORD_START + rb"SK[0-9a-f]{32}" + WORD_END,
           *(f"sk{a}{b}" for a in "0123456789abcdef" for b in "0123456789abcdef")),
    secret("crypt_hash", rb"(?P<s>\$(?:[1567y]|2[abxy]|apr1|gy|sha1|argon2(?:id|i|d))\$"
           rb"[./A-Za-z0-9,=$+-]{16,256})", "~$1$", "~$5$", "~$6$", "~$7$", "~$y$", "$2a$", "$2b$",
           "$2y$", "$2x$", "apr1", "$gy$", "gon2", "$sha"),
    secret("password_hash", rb"\{S?SHA(?:256|384|512)?\}(?P<s>[A-Za-z0-9+/=]{20,200})", "sha}",
           "ha25", "ha51", "ha38"),
    secret("password_hash", rb"pbkdf2_sha\d{1,3}\$\d{1,9}\$(?P<s>[^\s\"']{8,200})", "pbkd"),
    secret("password_hash", rb"SCRAM-SHA-\d{1,3}\$(?P<s>\d{1,6}:[A-Za-z0-9+/=$:]{16,300})", "ram-"),
)  # fmt: skip
