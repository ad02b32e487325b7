"""Files that may lie beside the logs of an incident, and that must not change who is named.

Each comes with what the coverage must hold of it: ``refused`` (listed with its
reason), ``read`` (its lines are counted), or ``quiet`` (it holds nothing).
"""

import gzip
import io
import json
import random
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

from tests.hostile.log_incident import BUSES, Files, kernel, stamp, steps, watchdog

ESC = "\x1b"
LINK = f"{ESC}]8;;http://example.invalid/{ESC}\\"


@dataclass(frozen=True)
class Addition:
    """Files, and what becomes of them."""

    name: str
    files: Files
    becomes: str = "read"
    real: bool = False
    """Whether it tells of a failure that it may convict for where nothing else is known."""
    rival: bool = False
    """Whether it may take from how sure the answer is, though not from who stands first."""


def xid(code: int | str, gpu: str = BUSES[0], text: str = "Ch 00000012") -> str:
    return f"NVRM: Xid (PCI:{gpu}): {code}, pid=4000, name=python3, {text}"


def text_files() -> Iterator[Addition]:
    """Logs of odd bytes and odd characters."""
    noise = random.Random(5)
    binary = noise.randbytes(50_000)
    words = "n1 kernel: usb 1-1: Gerät getrennt, périphérique déconnecté\n" * 40
    yield Addition("binary", {"nodes/n1/blob.log": binary}, "refused")
    yield Addition("binary-lines", {"nodes/n1/dmesg": binary.replace(b"\0", b"\n")}, "refused")
    yield Addition(
        "binary-after-text", {"nodes/n1/app.log": (steps() * 60).encode() + binary}, "read"
    )
    yield Addition("zeros", {"nodes/n1/app.log": bytes(70_000)}, "refused")
    yield Addition("nul", {"nodes/n1/app.log": steps().encode().replace(b"step", b"st\0\0ep")})
    for encoding in ("utf-8", "latin-1", "utf-16", "utf-8-sig"):
        yield Addition(encoding, {"nodes/n1/app.log": words.encode(encoding)})
    chinese = "[rank4]: 训练步骤 完成 loss 2.0\n" * 40
    yield Addition("gb18030", {"nodes/n1/app.log": (steps() + chinese).encode("gb18030")})
    mixed = words.encode() + words.encode("latin-1") + chinese.encode("gb18030")
    yield Addition("mixed", {"nodes/n1/app.log": steps().encode() + mixed})
    yield Addition("ansi", {"job-2.log": steps().replace("step", f"{ESC}[31;1mstep{ESC}[0m")})
    yield Addition("links", {"job-2.log": steps().replace("step", f"{LINK}step{LINK}{ESC}[2J")})
    yield Addition(
        "controls", {"job-2.log": "\a\b\v\f\x7f\x85\u2028".join(steps(5)) + "\n"}, "refused"
    )
    yield Addition("crlf", {"job-2.log": steps().replace("\n", "\r\n")})
    yield Addition("returns", {"job-2.log": steps().replace("\n", "\r")})
    yield Addition("no-end", {"job-2.log": steps()[:-9]})
    yield Addition("cut-in-a-character", {"job-2.log": (steps() + "ü").encode()[:-1]})
    yield Addition("empty", {"nodes/n1/dmesg.log": b""}, "quiet")
    yield Addition("line-feeds", {"nodes/n1/dmesg.log": b"\n" * 5_000})
    yield Addition("one-long-line", {"nodes/n1/app.log": b"watchdog nccl " * 200_000})


def dated_files() -> Iterator[Addition]:
    """Lines of other times and places, and numbers that no machine counts to."""
    fallen = xid(79, text="GPU has fallen off the bus.")
    for year in ("1970", "2099"):
        line = f"{year}-01-01T00:00:02.000000+00:00 n1 kernel: {fallen}\n"
        yield Addition(f"year-{year}", {"nodes/n1/old.log": line}, real=True)
    for days in (3, 8, 400):
        old = kernel("n1", [(-86_400.0 * days, fallen)])
        yield Addition(f"{days}-days-ago", {"nodes/n1/dmesg.1": old}, real=True)
    yield Addition("quoted", {"nodes/n1/app.log": f'[rank4]: WARNING docs say "{fallen}" is bad\n'})
    yield Addition("source", {"nodes/n1/app.log": f'[rank4]:     if "{fallen}" in line:\n'})
    yield Addition(
        "echoed", {"nodes/n1/setup.log": f"+ grep -c '{fallen}' /var/log/syslog\n+ echo 0\n0\n"}
    )
    other = "".join(
        f"other{k}:{k}:{k} [0] NCCL INFO ncclCommInitRank comm 0x{k:x} rank {k} nranks 512"
        " cudaDev 0 busId 1b000 commId 0x77 - Init COMPLETE\n"
        for k in range(512)
    )
    yield Addition("other-job", {"other.log": other})
    swapped = "".join(
        f"n{3 - rank // 4}:{rank}:{rank} [{rank % 4}] NCCL INFO ncclCommInitRank comm 0x{rank:x}"
        f" rank {rank} nranks 16 cudaDev {rank % 4} busId 1b000 commId 0x78 - Init COMPLETE\n"
        for rank in range(16)
    )
    yield Addition("contradicting-seats", {"second.log": swapped})
    yield Addition("other-host", {"nodes/n1/kernel.1.log": kernel("elsewhere", [(-0.5, xid(45))])})
    far = "NVRM: Xid (PCI:ffff:ff:ff): 99999999999999999999, pid=99999999999999999999, name=x, y"
    yield Addition("huge-code", {"nodes/n1/k2.log": kernel("n1", [(-0.4, far)])})
    huge = "9" * 31
    lines = [
        watchdog(4).replace("Timeout(ms)=600000", f"Timeout(ms)={huge}"),
        watchdog(4).replace("ran for 600004", f"ran for {huge}"),
        watchdog(4).replace("SeqNum=812", f"SeqNum={huge}"),
        watchdog(4).replace("Rank 4]", f"Rank {huge}]").replace("rank4]", f"rank{huge}]"),
        watchdog(4).replace("Rank 4]", "Rank 99999999]").replace("rank4]", "rank99999999]"),
        "n1:1:2 [99999999] NCCL INFO comm 0x1 rank 99999999 nranks 16 busId ffffffffffff\n",
        f"{huge}: [rank{huge}]: step {huge} loss {huge}\n",
        f"[{huge}.{huge}] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {huge}.1\n",
    ]
    yield Addition("huge-numbers", {"huge.log": "".join(lines)})
    yield Addition("literals-alone", {"nodes/n1/words.log": words_of_signatures()}, rival=True)
    deep = "".join('{"msg":' * depth + "1" + "}" * depth + "\n" for depth in (10, 1_000, 9_000))
    yield Addition("deep-json", {"deep.jsonl": deep + "[" * 60_000 + "\n"})
    wrapped = json.dumps({"log": json.dumps({"msg": json.dumps({"message": steps(3)})})})
    yield Addition("json-in-json", {"nested.jsonl": wrapped + "\n"})


def words_of_signatures() -> str:
    """Every literal that the scan looks for, one a line and all in one."""
    from triage.signatures.registry import load_all_signatures

    found = sorted({text for one in load_all_signatures() for text in one.literals})
    return "\n".join(found) + "\n" + " ".join(found) + "\n"


def consequences() -> Iterator[Addition]:
    """Text of what follows a failure, in files of nodes that did nothing."""
    for code in (43, 45, 154, 999, 0):
        text = {154: "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"}
        lines = [(-5.0 + k / 10, xid(code, text=text.get(code, "Ch 01"))) for k in range(40)]
        yield Addition(
            f"xid-{code}", {"nodes/n1/k2.log": kernel("n1", lines)}, rival=code in (0, 999)
        )
    cascade = "".join(
        f"W1121 03:04:14.{rank:06d} {rank} torch/distributed/elastic/multiprocessing/api.py:900]"
        f" Sending process {4000 + rank} closing signal SIGTERM\n"
        for rank in range(8)
    )
    yield Addition("sigterm", {"nodes/n1/agent.log": cascade})
    yield Addition(
        "advice",
        {
            "nodes/n1/app.log": "[rank5]: For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
            "[rank5]: Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        },
    )


def packed(files: Files, *, hostile: bool = False) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            tar.addfile(entry, io.BytesIO(raw))
        if hostile:
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
                entry = tarfile.TarInfo(f"nodes/n1/odd-{kind!r}.log")
                entry.type, entry.linkname = kind, "/etc/passwd"
                tar.addfile(entry)
    return out.getvalue()


def packed_files() -> Iterator[Addition]:
    """Packed logs that are cut, swollen, or named by somebody with a plan."""
    text = (steps() * 200).encode()
    gz, zst = gzip.compress(text), zstandard.compress(text)
    yield Addition("gz", {"nodes/n1/app.log.gz": gz})
    yield Addition("zst", {"nodes/n1/app.log.zst": zst})
    for name, raw in (("gz", gz), ("zst", zst)):
        yield Addition(f"{name}-cut", {f"nodes/n1/app.log.{name}": raw[: len(raw) // 2]}, "any")
        yield Addition(f"{name}-head", {f"nodes/n1/app.log.{name}": raw[:12]}, "any")
    broken = bytearray(gz)
    broken[len(broken) // 2] ^= 0xFF
    yield Addition("gz-damaged", {"nodes/n1/app.log.gz": bytes(broken)}, "any")
    yield Addition("gz-trailing", {"nodes/n1/app.log.gz": gz + b"trailing"}, "any")
    yield Addition("gz-of-gz", {"nodes/n1/app.log.gz": gzip.compress(gz)}, "any")
    names = {
        "../../nodes/n1/kernel.log": steps(),
        "/etc/cron.d/x.log": steps(),
        "nodes/$(touch x);`y`/kernel.log": kernel("n1", []),
        "nodes/..\\n1/a\nb.log": steps(),
        "nodes/\u202en1/\u200bk.log": kernel("n1", []),
        "a/" * 40 + "deep.log": steps(),
    }
    yield Addition("tar-names", {"more.tar": packed(names, hostile=True)})
    yield Addition("tar-cut", {"more.tar": packed({"a.log": text, "b.log": text})[:20_000]}, "any")
    inner = packed({"nodes/n1/kernel.log": kernel("n1", [])})
    yield Addition("tar-in-tar", {"more.tar.gz": gzip.compress(packed({"in.tar": inner}))}, "any")


def named_files() -> Iterator[Addition]:
    """Node names with something in them for a shell, a terminal or an eye."""
    fallen = [(-1.0, xid(45))]
    for k, name in enumerate(
        (
            "$(reboot)",
            "`id`",
            "a;rm -rf x",
            "a b",
            "-rf",
            "\u202e3n",
            "n\u200b3",
            "n\x1b[2J3",
            "a|b&",
        )
    ):
        yield Addition(f"node-{k}", {f"nodes/{name}/kernel.log": kernel("n9", fallen)})
        line = f"{stamp(-1)} {name} kernel: {xid(45)}\n"
        yield Addition(f"host-{k}", {"cluster.log": line * 3})


def additions() -> tuple[Addition, ...]:
    """All of them."""
    found = (text_files, dated_files, consequences, packed_files, named_files)
    return tuple(one for group in found for one in group())
