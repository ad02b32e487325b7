"""Pickles that run code in whoever loads them: none of their opcodes is known here."""

import io
import pickle
import zipfile
from collections.abc import Callable, Iterator

from tests.hostile.assembler import HEAD, Raw, dump, entry, protocol, text, value, whole
from tests.hostile.inputs import Hostile

Payload = Callable[[str], bytes]

CALLS = {
    "os.system": ("os", "system", "touch {}"),
    "posix.system": ("posix", "system", "touch {}"),
    "subprocess.getoutput": ("subprocess", "getoutput", "touch {}"),
    "subprocess.check_call": ("subprocess", "check_call", ["touch", "{}"]),
    "builtins.eval": ("builtins", "eval", "open('{}', 'w')"),
    "builtins.exec": ("builtins", "exec", "open('{}', 'w')"),
    "python2.eval": ("__builtin__", "eval", "open('{}', 'w')"),
    "os.mkdir": ("os", "mkdir", "{}"),
    "pty.spawn": ("pty", "spawn", ["touch", "{}"]),
    "timeit.timeit": ("timeit", "timeit", "open('{}', 'w')"),
    "runpy.run_path": ("runpy", "run_path", "{}"),
    "pathlib.Path.touch": ("pathlib", "Path.touch", "{}"),
    "importlib.import_module": ("importlib", "import_module", "antigravity"),
    "logging.FileHandler": ("logging", "FileHandler", "{}"),
    "torch.load": ("torch", "load", "{}"),
    "numpy.load": ("numpy", "load", "{}"),
    "code.interact": ("code", "interact", "{}"),
}


def filled(argument: str | list[str], marker: str) -> str | list[str]:
    if isinstance(argument, str):
        return argument.format(marker)
    return [one.format(marker) for one in argument]


def call_global(key: str) -> Payload:
    module, name, argument = CALLS[key]
    return lambda marker: (
        b"c" + f"{module}\n{name}\n".encode() + value((filled(argument, marker),)) + b"R"
    )


def call_stack_global(key: str) -> Payload:
    module, name, argument = CALLS[key]
    return lambda marker: (
        text(module) + text(name) + b"\x93" + value((filled(argument, marker),)) + b"R"
    )


def short(raw: str) -> bytes:
    return b"\x8c" + bytes([len(raw)]) + raw.encode()


SYSTEM = b"cos\nsystem\n"
FORMS: dict[str, Payload] = {
    "global_alone": lambda _: SYSTEM,
    "reduce_of_text": lambda m: text("os.system") + value((f"touch {m}",)) + b"R",
    "build_on_a_dict": lambda m: b"}" + value({"__setstate__": f"touch {m}"}) + b"b",
    "build_on_a_module": lambda m: b"cos\nenviron\n" + value({"PATH": m}) + b"b",
    "newobj": lambda m: SYSTEM + value((f"touch {m}",)) + b"\x81",
    "newobj_ex": lambda m: SYSTEM + value((f"touch {m}",)) + b"}" + b"\x92",
    "newobj_of_text": lambda m: text("os") + value((f"touch {m}",)) + b"\x81",
    "obj": lambda m: b"(" + SYSTEM + text(f"touch {m}") + b"o",
    "inst": lambda m: b"(" + text(f"touch {m}") + b"ios\nsystem\n",
    "ext1": lambda m: b"\x82\x01" + value((f"touch {m}",)) + b"R",
    "ext2": lambda m: b"\x83\x01\x00" + value((f"touch {m}",)) + b"R",
    "ext4": lambda m: b"\x84\x01\x00\x00\x00" + value((f"touch {m}",)) + b"R",
    "persid": lambda m: b"Ptouch " + m.encode() + b"\n",
    "binpersid": lambda m: text(f"touch {m}") + b"Q",
    "next_buffer": lambda _: b"\x97",
    "readonly_buffer": lambda _: b"\x97\x98",
    "stack_global_through_the_memo": lambda m: (
        text("os") + b"q\x00" + text("system") + b"q\x01" + b"h\x00h\x01\x93"
        + value((f"touch {m}",)) + b"R"
    ),
    "stack_global_protocol_4": lambda m: (
        short("posix") + b"\x94" + short("system") + b"\x94\x93\x94"
        + short(f"touch {m}") + b"\x94\x85\x94R\x94"
    ),
    "two_in_one": lambda m: (
        SYSTEM + value((f"touch {m}",)) + b"R0" + b"cos\nmkdir\n" + value((m,)) + b"R"
    ),
    "reduce_in_a_reduce": lambda m: (
        b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n" + text("os") + b"\x85R"
        + text("system") + b"tR" + value((f"touch {m}",)) + b"R"
    ),
    "partial_applied": lambda m: (
        b"cfunctools\npartial\n(" + SYSTEM + text(f"touch {m}") + b"tR)R"
    ),
}  # fmt: skip


class Loads:
    """What a payload generator of the shelf gives: ``__reduce__``."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[type[io.FileIO], tuple[str, str]]:
        return io.FileIO, (self.marker, "w")


# Where the payload stands in an otherwise honest dump.
PLACES: dict[str, Callable[[bytes], bytes]] = {
    "alone": lambda code: HEAD + code + b".",
    "before_all_else": lambda code: HEAD + code + b"0" + value(dump()) + b".",
    "as_entries": lambda code: whole(dump(Raw(code))),
    "as_an_entry": lambda code: whole(dump([entry(), Raw(code)])),
    "as_a_frame": lambda code: whole(dump([entry(frames=[Raw(code)])])),
    "as_a_size": lambda code: whole(dump([entry(input_sizes=[[Raw(code)]])])),
    "as_pg_config": lambda code: whole(dump(pg_config=Raw(code))),
    "under_an_unknown_key": lambda code: whole(dump(extra=Raw(code))),
    "in_nccl_comm_state": lambda code: whole(dump(nccl_comm_state={"0": Raw(code)})),
    "as_a_key": lambda code: HEAD + b"}(" + code + b"Nu.",
    "after_the_end": lambda code: whole(dump()) + HEAD + code + b".",
    "after_zeros": lambda code: whole(dump()) + bytes(512) + HEAD + code + b".",
    "in_protocol_4": lambda code: protocol(4) + b"\x95" + bytes(8) + code + b".",
    "in_protocol_5": lambda code: protocol(5) + code + b".",
}


def placed(place: str, code: Payload) -> Payload:
    return lambda marker: PLACES[place](code(marker))


def without_protocol(marker: str) -> bytes:
    return b"cos\nsystem\n(S'touch " + marker.encode() + b"'\ntR."


def torch_archive(marker: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Loads(marker)))
    return made.getvalue()


def inputs() -> Iterator[Hostile]:
    for key in CALLS:
        yield Hostile("code", f"global {key}", placed("alone", call_global(key)), says="0x63")
        yield Hostile(
            "code", f"stack_global {key}", placed("as_an_entry", call_stack_global(key)),
            says="0x93",
        )  # fmt: skip
    for form, code in FORMS.items():
        yield Hostile("code", f"{form} as an entry", placed("as_an_entry", code), says="opcode 0x")
        yield Hostile("code", f"{form} alone", placed("alone", code), says="opcode 0x")
    for place in PLACES:
        code = call_global("os.system")
        yield Hostile("code", f"os.system {place}", placed(place, code), says="at byte")
    for number in range(2, 6):
        yield Hostile(
            "code", f"__reduce__ protocol {number}",
            lambda marker, number=number: pickle.dumps(Loads(marker), number), says="opcode 0x",
        )  # fmt: skip
    # Text, not pickles of a protocol that dumps use: "any", since nobody claims them.
    for number in (0, 1):
        yield Hostile(
            "code", f"__reduce__ protocol {number}",
            lambda marker, number=number: pickle.dumps(Loads(marker), number),
        )  # fmt: skip
    yield Hostile("code", "protocol 0 by hand", without_protocol)
    yield Hostile("code", "torch archive", torch_archive)
