"""Guard: forms of addresses that must reach nothing, and the few that may."""

import socket
import threading
from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.notify.receivers import has_loopback_v6, listener, was_called
from triage.errors import Unprocessable, UsageError
from triage.notify import guard as guard_module
from triage.notify.deliver import send
from triage.notify.guard import (
    Guard,
    is_public,
    parse_resolved_address,
    parse_url,
    resolve_by_system,
)
from triage.notify.message import Request

PUBLIC = "93.184.216.34"
NAMES = {
    "public.example": [PUBLIC],
    "localhost": ["127.0.0.1", "::1"],
    "inside.example": ["127.0.0.1"],
    "mixed.example": [PUBLIC, "127.0.0.1"],
    "mixed6.example": ["2606:2800:220:1::1", "::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "scoped.example": ["fe80::1%eth0"],
    "ten.example": ["10.1.2.3"],
    "tens.example": ["10.1.2.3", "10.9.9.9"],
    "garbage.example": ["not an address"],
    "empty.example": [],
    "xn--brse-5qa.example": [PUBLIC],
}


def resolve(host, port):
    if host not in NAMES:
        raise socket.gaierror("no such name")
    return NAMES[host]


# The second listener; a machine without IPv6 has nobody there to call.
SIX = "::1" if has_loopback_v6() else "127.0.0.1"

# {port} is a port of this machine at which somebody listens, on every loopback address.
REFUSED = [
    # loopback, in all its spellings
    "https://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/",
    "https://127.1:{port}/",
    "https://127.0.1:{port}/",
    "https://2130706433:{port}/",
    "https://0x7f000001:{port}/",
    "https://0x7f.0.0.1:{port}/",
    "https://0x7f.1:{port}/",
    "https://0X7F.1:{port}/",
    "https://017700000001:{port}/",
    "https://0177.0.0.1:{port}/",
    "https://0177.1:{port}/",
    "https://127.0.0.01:{port}/",
    "https://127.000.000.001:{port}/",
    "https://127.0.0.1.:{port}/",
    "https://127.8.9.10:{port}/",
    "https://0.0.0.0:{port}/",
    "https://0:{port}/",
    "https://0x:{port}/",
    "https://１２７.０.０.１:{port}/",
    "https://①②⑦.⓪.⓪.①:{port}/",
    "https://127。0。0。1:{port}/",
    "https://localhost:{port}/",
    "https://LOCALHOST:{port}/",
    "https://localhost.:{port}/",
    "https://ｌocalhost:{port}/",
    "https://inside.example:{port}/",
    "https://mixed.example:{port}/",
    "https://mixed6.example:{port}/",
    "https://mapped.example:{port}/",
    "https://scoped.example:{port}/",
    # IPv6, and IPv4 inside it
    "https://[::1]:{port}/",
    "https://[0:0:0:0:0:0:0:1]:{port}/",
    "https://[::]:{port}/",
    "https://[::ffff:127.0.0.1]:{port}/",
    "https://[::ffff:7f00:1]:{port}/",
    "https://[::127.0.0.1]:{port}/",
    "https://[64:ff9b::127.0.0.1]:{port}/",
    "https://[64:ff9b:1::127.0.0.1]:{port}/",
    "https://[2002:7f00:1::]:{port}/",
    "https://[2001:0:7f00:1::80ff:fffe]:{port}/",
    "https://[2a00::5efe:127.0.0.1]:{port}/",
    "https://[fe80::1]:{port}/",
    "https://[fe80::1%25lo]:{port}/",
    "https://[fc00::1]:{port}/",
    "https://[ff02::1]:{port}/",
    # private, link-local, metadata and other places inside
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://100.100.100.200/latest/meta-data/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::ffff:169.254.169.254]/",
    "https://[fd00:ec2::254]/",
    "https://168.63.129.16/",
    "https://192.0.0.192/opc/v2/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://ten.example/",
    # user names, and hosts that two readers read differently
    "https://public.example@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}@public.example/",
    "https://user:secret@public.example/",
    "https://public.example#@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}#public.example",
    "https://127.0.0.1:{port}\\@public.example/",
    "https://public.example\\@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}\t.public.example/",
    "https://public.example:443:{port}/",
    "https:\\\\127.0.0.1:{port}/",
    "https:///127.0.0.1:{port}/",
    "https:127.0.0.1:{port}/",
    "https://%31%32%37.0.0.1:{port}/",
    "https://local%68ost:{port}/",
    "https://[::1%25eth0]:{port}/",
    "https://[127.0.0.1]:{port}/",
    "https://::1:{port}/",
    # other schemes, broken ports, blanks and controls
    "http://public.example/",
    "ftp://127.0.0.1:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_x",
    "unix:///run/triage.sock",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "",
    "https://",
    "https://public.example:0/",
    "https://public.example:65536/",
    "https://public.example:8a/",
    "https://public.example:+443/",
    "https://public.example:٤٤٣/",
    "https://public.example/a b",
    "https://public.example/\r\nHost: x",
    " https://public.example/",
    "https://public.example/\x00",
    "https://public.example/\u202e",
    "https://public.example/ü",
    "https://public.example/%zz",
    "https://-a.example/",
    "https://a..example/",
    "https://.example/",
    "https://" + "a" * 64 + ".example/",
    "https://" + "a." * 130 + "example/",
    "https://public.example/" + "a" * 2048,
    "https://nowhere.example/",
    "https://garbage.example/",
    "https://empty.example/",
]


@pytest.mark.parametrize("form", REFUSED)
def test_an_address_that_may_not_be_called_is_refused_and_not_called(form):
    with listener() as four, listener(SIX) as six:
        for sock in (four, six):
            url = form.replace("{port}", str(sock.getsockname()[1]))
            guard = Guard(resolve=resolve)
            with pytest.raises(Unprocessable) as refused:
                guard.check(url)
            attempt = send(Request("POST", url, {}, b"{}"), guard, timeout_s=2)
            assert not attempt.ok
            assert attempt.status is None
        assert refused.value.places[0].where == "body/url"
        assert refused.value.hint
        assert not was_called(four)
        assert not was_called(six)


def test_enough_forms_were_tried():
    assert len(set(REFUSED)) >= 60


def test_the_listener_would_have_been_called():
    with listener() as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/"
        send(Request("POST", url, {}, b"{}"), Guard(["127.0.0.1"]), timeout_s=3)
        assert was_called(sock)


@pytest.mark.parametrize(
    "form",
    [
        "https://user:hunter2@public.example/",
        "https://10.0.0.1/services/hunter2",
        "https://nowhere.example/hunter2",
        "https://ten.example/hunter2",
        "https://public.example/hunter2#x",
    ],
)
def test_a_refusal_tells_neither_the_secret_nor_the_inside(form):
    with pytest.raises(Unprocessable) as refused:
        Guard(resolve=resolve).check(form, where="body/callback_url")
    said = f"{refused.value} {refused.value.hint} {refused.value.places}"
    assert "hunter2" not in said
    assert "10." not in said
    assert refused.value.places[0].where == "body/callback_url"


def test_the_hint_names_the_setting():
    with pytest.raises(Unprocessable) as refused:
        Guard(resolve=resolve).check("https://ten.example/")
    assert "TRIAGE_WEBHOOK_ALLOW" in refused.value.hint


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("https://public.example", "public.example", 443, "/"),
        ("https://public.example?a=b", "public.example", 443, "/?a=b"),
        ("HTTPS://Public.Example.:8443/a/b?c=%20", "public.example", 8443, "/a/b?c=%20"),
        ("https://b\u00f6rse.example/", "xn--brse-5qa.example", 443, "/"),
        ("https://93.184.216.34:1/", PUBLIC, 1, "/"),
        ("https://[2606:2800:220:1::1]:65535/", "2606:2800:220:1::1", 65535, "/"),
        ("https://[64:ff9b::93.184.216.34]/", "64:ff9b::5db8:d822", 443, "/"),
        ("https://public.example/a@b:c;d=(e)*'$!", "public.example", 443, "/a@b:c;d=(e)*'$!"),
    ],
)
def test_a_public_https_address_may_be_called(url, host, port, target):
    checked = Guard(resolve=resolve).check(url)
    assert (str(checked.url.host), checked.url.port, checked.url.target) == (host, port, target)
    assert checked.addresses == ((NAMES.get(host) and tuple(NAMES[host])) or (host,))


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        (["ten.example"], "http://ten.example/"),
        (["TEN.example."], "https://ten.example/"),
        (["10.0.0.0/8"], "http://ten.example/"),
        (["10.1.2.3/8"], "http://tens.example/"),
        (["10.1.2.3"], "http://10.1.2.3:9093/"),
        (["127.0.0.0/8", "::1"], "http://localhost:8080/"),
        (["127.0.0.0/8"], "https://mixed.example/"),
        (["127.0.0.0/8"], "http://mapped.example/"),
        (["127.0.0.1"], "http://[::ffff:127.0.0.1]/"),
        (["[::1]"], "http://[::1]:80/"),
        (["", "  ", "public.example"], "http://public.example/"),
        (["0.0.0.0/0", "::/0"], "http://169.254.169.254/"),
    ],
)
def test_what_the_operator_lists_may_be_private_and_plain(allow, url):
    assert Guard(allow, resolve=resolve).check(url).addresses


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        (["ten.example"], "https://tens.example/"),
        (["ten.example"], "https://10.1.2.3/"),
        (["ten.example"], "https://sub.ten.example/"),
        (["example"], "https://ten.example/"),
        (["10.1.0.0/16"], "https://tens.example/"),
        (["127.0.0.0/8"], "http://mixed.example/"),
        (["::1"], "https://localhost/"),
        (["127.0.0.1"], "https://127.1/"),
        (["public.example"], "http://user@public.example/"),
    ],
)
def test_the_list_lets_through_nothing_beside_it(allow, url):
    with pytest.raises(Unprocessable):
        Guard(allow, resolve=resolve).check(url)


@pytest.mark.parametrize(
    "entry", ["https://a.example", "a.example:80", "a.example/x", "*", "a b", "10.0.0.0/33", "*.a"]
)
def test_an_entry_that_means_nothing_stops_the_start(entry):
    with pytest.raises(UsageError, match="TRIAGE_WEBHOOK_ALLOW"):
        Guard(["good.example", entry])


class Rebinding:
    """A name that is public when it is looked at and this machine afterwards."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host, port):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_a_name_that_turns_inside_after_the_subscription_reaches_nothing():
    with listener() as sock:
        url = f"https://rebind.example:{sock.getsockname()[1]}/"
        guard = Guard(resolve=Rebinding([PUBLIC], ["127.0.0.1"]))
        guard.check(url)
        assert not send(Request("POST", url, {}, b"{}"), guard, timeout_s=2).ok
        assert not was_called(sock)


def test_the_name_is_asked_for_once_and_the_answer_is_what_is_called(monkeypatch):
    looked_up = []
    real = socket.getaddrinfo

    def spy(host, *rest, **options):
        looked_up.append(host)
        return real(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", spy)
    with listener() as checked, listener() as other:
        port = checked.getsockname()[1]
        rebinding = Rebinding(["127.0.0.1"], ["127.0.0.2"])
        guard = Guard(["rebind.example"], resolve=rebinding)
        send(Request("POST", f"http://rebind.example:{port}/", {}, b""), guard, timeout_s=3)
        assert was_called(checked)
        assert not was_called(other)
    assert rebinding.asked == 1
    assert set(looked_up) <= {"127.0.0.1"}


def test_an_address_that_is_no_name_is_not_asked_for():
    rebinding = Rebinding([PUBLIC])
    Guard(resolve=rebinding).check("https://93.184.216.34/")
    assert rebinding.asked == 0


@settings(deadline=None)
@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_never_public(address):
    if not address.is_global or address.is_multicast or address.is_reserved:
        # 192.0.0.9 and .10 are reachable by the registry, and refused here.
        assert not is_public(address)


@settings(deadline=None)
@given(st.ip_addresses(v=6))
def test_what_python_calls_private_is_never_public_in_v6(address):
    if not address.is_global or address.is_multicast or address.is_link_local:
        assert not is_public(address) or address.ipv4_mapped is not None


@settings(deadline=None)
@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_as_what_it_is(address):
    number = int(address)
    for wrapped in (
        f"::ffff:{address}",
        f"64:ff9b::{address}",
        f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1",
        f"2a00::5efe:{address}",
    ):
        assert is_public(ip_address(wrapped)) == is_public(address)
    assert parse_resolved_address(f"::ffff:{address}") == address


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text):
    for url in (text, f"https://{text}", f"https://{text}/", f"https://a.example/{text}"):
        try:
            parsed = parse_url(url)
        except Unprocessable:
            continue
        assert parsed.target.isascii()
        assert not set(str(parsed.host)) & set("/@?#\\% \t\r\n")


def test_the_resolver_of_the_system_is_not_waited_for_for_ever(monkeypatch):
    hangs = threading.Event()
    monkeypatch.setattr(guard_module, "RESOLVE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hangs.wait(30) and [])
    try:
        with pytest.raises(TimeoutError):
            resolve_by_system("slow.example", 443)
    finally:
        hangs.set()


def test_the_resolver_of_the_system_gives_every_address():
    assert "127.0.0.1" in resolve_by_system("localhost", 80)
    with pytest.raises(OSError, match=r"."):
        resolve_by_system("nowhere.invalid", 80)
    with pytest.raises(OSError, match=r"."):
        resolve_by_system("a" * 70 + ".example", 80)
