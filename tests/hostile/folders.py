"""What lies in a folder besides files with bytes in them: pipes, loops, names."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

GOOD = b"\x80\x02}."


def pipe(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1001"
    os.mkfifo(path)
    return path


def listening(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1002"
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(folder)  # an address holds 108 bytes
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)
    return path


def folder_named_like_a_dump(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1003"
    path.mkdir()
    (path / "comm_lib_trace_rank_1004").write_bytes(GOOD)
    return path / "comm_lib_trace_rank_1004"


def link_to_itself(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1005"
    path.symlink_to(path.name)
    return path


def link_to_nothing(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1006"
    path.symlink_to("nowhere")
    return path


def link_to_its_own_folder(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1007"
    path.symlink_to(".")
    return path


def link_to_a_device(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1008"
    path.symlink_to("/dev/zero")
    return path


def longest_name(folder: Path) -> Path:
    path = folder / ("r" * 231 + "comm_lib_trace_rank_1009")
    path.write_bytes(GOOD)
    return path


def name_of_bytes(folder: Path) -> Path:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe\xc0_trace_rank_1010"))
    path.write_bytes(GOOD)
    return path


def name_of_lines(folder: Path) -> Path:
    path = folder / "a\nrefused: all\r\x1b[2J\u202e_trace_rank_1011"
    path.write_bytes(GOOD)
    return path


def name_of_markup(folder: Path) -> Path:
    path = folder / "<img src=x onerror=alert(1)>_rank_1012"
    path.write_bytes(GOOD)
    return path


def name_of_digits(folder: Path) -> Path:
    path = folder / ("rank_" + "0" * 240)
    path.write_bytes(GOOD)
    return path


def deep_folder(folder: Path) -> Path:
    path = folder
    for _ in range(40):
        path /= "d" * 40
    path.mkdir(parents=True)
    (path / "comm_lib_trace_rank_1013").write_bytes(GOOD)
    return path / "comm_lib_trace_rank_1013"


def hole(folder: Path) -> Path:
    path = folder / "comm_lib_trace_rank_1014"
    with path.open("wb") as file:
        file.write(b"\x80\x02")
        file.truncate(20 << 30)
    return path


def hole_in_a_tar(folder: Path) -> Path:
    import tarfile

    path = folder / "comm_lib_trace_rank_1015"
    info = tarfile.TarInfo("x_rank_1016")
    info.size = 20 << 30
    with path.open("wb") as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
        file.truncate(20 << 30)
    return path


def unreadable(folder: Path) -> Path:
    """For anybody but root."""
    path = folder / "comm_lib_trace_rank_1017"
    path.write_bytes(GOOD)
    path.chmod(0)
    return path


ODDITIES: tuple[Callable[[Path], Path], ...] = (
    pipe, listening, folder_named_like_a_dump, link_to_itself, link_to_nothing,
    link_to_its_own_folder, link_to_a_device, longest_name, name_of_bytes, name_of_lines,
    name_of_markup, name_of_digits, deep_folder, hole, hole_in_a_tar, unreadable,
)  # fmt: skip


def furnish(folder: Path) -> list[Path]:
    """All of them; the paths that have to be refused."""
    return [oddity(folder) for oddity in ODDITIES]
