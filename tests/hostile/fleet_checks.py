"""Results of checks that lie, are cut, or expand."""

import json
from collections.abc import Iterator

from tests.formats.health import samples
from tests.hostile.fleet_body import CHECKS, NOW, NUMBERS, YEARS, FleetBody, body, lies, together

ENTITIES = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))

LOG = "<nvidia_smi_log><timestamp>Sat Nov 21 03:04:15 2026</timestamp>"

XML = {
    "laughs": f'<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY e0 "ha">{ENTITIES}]>'
    f"{LOG}<gpu>&e11;</gpu></nvidia_smi_log>",
    "quadratic": f'<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a "{"x" * 50_000}">]>'
    f"{LOG}<gpu>{'&a;' * 5000}</gpu></nvidia_smi_log>",
    "outside": '<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a SYSTEM "file:///etc/'
    f'passwd">]>{LOG}<gpu>&a;</gpu></nvidia_smi_log>',
    "deep": f'<?xml version="1.0"?>{LOG}' + "<gpu>" * 100_000,
    "deep-closed": f'<?xml version="1.0"?>{LOG}'
    + "<gpu>" * 50_000
    + "</gpu>" * 50_000
    + "</nvidia_smi_log>",
    "attributes": f'<?xml version="1.0"?>{LOG}<gpu '
    + " ".join(f'a{k}="1"' for k in range(20_000))
    + "/></nvidia_smi_log>",
    "cut": f'<?xml version="1.0"?>{LOG}<gpu id="0000:1b:00"><ecc_err',
    "coding": '<?xml version="1.0" encoding="utf-7"?>' + LOG + "</nvidia_smi_log>",
}


def checks() -> Iterator[FleetBody]:
    for name, text in (("dcgm3", samples.dcgm3()), ("dcgm4", samples.dcgm4())):
        for where, value in lies(json.loads(text)):
            yield body(f"{name}-{where}", CHECKS, json.dumps(value))
    host = {
        "node": "n0",
        "check": "disk",
        "status": "fail",
        "detail": "x",
        "part": "sda",
        "category": "ssd",
        "at": f"{NOW:%Y-%m-%dT%H:%M:%SZ}",
    }
    rows = [json.dumps(value) for _, value in lies(host)]
    yield from together("host", CHECKS, [json.dumps(host), *rows], size=1000)
    for number in NUMBERS:
        for field_ in ("busbw", "wrong"):
            text = samples.nccl("n0", busbw=300.0, wrong=0)
            odd = (
                text.replace("300.0", number, 1)
                if field_ == "busbw"
                else text.replace("  0 ", f"  {number} ")
            )
            yield body(f"nccl-{field_}-{number[:9]}", CHECKS, odd)
        yield body(
            f"perfquery-{number[:9]}", CHECKS, samples.perfquery().replace("0", number or "-", 3)
        )
    for word in ("smi", "ibstat", "perfquery", "dcgm3", "dcgm4", "nccl"):
        good = getattr(samples, word)
        text = good({}) if word == "smi" else good("n0") if word == "nccl" else good()
        for share in (0.1, 0.5, 0.9):
            yield body(f"{word}-cut-{share}", CHECKS, text[: int(len(text) * share)])
        yield body(f"{word}-twice", CHECKS, text * 2)
        yield body(f"{word}-nul", CHECKS, text.replace(" ", "\0"))
    for name, inside in XML.items():
        yield body(f"xml-{name}", CHECKS, inside)
    for year in YEARS:
        query = f"?node=h0&at={year}"
        yield body(f"at-{year[:4]}", CHECKS, samples.smi({}), query=query)
    for query in (
        "?node=h0&node=h1",
        "?node=%00",
        "?node=%ff",
        "?at=",
        "?busbw_gbps=nan",
        "?busbw_gbps=1e309",
        "?node=" + "n" * 9000,
        "?cluster=%0a",
        "?=&=",
        "?%",
        "?&&",
    ):
        yield body(f"query-{query[:12]}", CHECKS, samples.smi({}), query=query)
