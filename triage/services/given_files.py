"""Given files: a few texts that came with a question, answered and forgotten.

They are read as all foreign bytes are, by a child that can be killed. It ends with the answer:
questions of this kind are rare, and its memory is worth more than its start.
"""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from triage.domain.answer_wire import answer_from_bytes
from triage.errors import TooMany, Unavailable, Unprocessable
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderNotStarted, ReaderTooSlow
from triage.sandbox.pool import FileToRead, Sandbox
from triage.services.context import Context

_DEADLINE_S: Final = 60.0
# One child of this kind in each process that answers.
_ONE: Final = threading.Lock()


def analyse_given(ctx: Context, files: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The report on (name, text) of each file; nothing of it is kept.

    Raises :class:`TooMany` while another one is made, :class:`Unprocessable` for texts that
    cannot be read, :class:`Unavailable` where the reader does not come up.
    """
    if not _ONE.acquire(blocking=False):
        raise TooMany("other files are being analysed", hint="ask again soon", retry_after_s=5)
    try:
        with tempfile.TemporaryDirectory(prefix="triage-given-") as folder:
            return _read_in(ctx, Path(folder), files)
    except ReaderNotStarted as error:
        raise Unavailable("no reader starts", hint="ask again soon", retry_after_s=30) from error
    except (ReaderDied, ReaderFailed, ReaderTooSlow) as error:
        raise Unprocessable("these texts cannot be read", hint="send fewer of them") from error
    finally:
        _ONE.release()


def _read_in(ctx: Context, folder: Path, files: Sequence[tuple[str, str]]) -> dict[str, Any]:
    listed = []
    for number, (name, text) in enumerate(files):
        path = folder / str(number)
        data = text.encode("utf-8", "replace")
        path.write_bytes(data)
        listed.append(FileToRead(path, name, len(data)))
    with Sandbox(ctx.settings.parse_memory_bytes, warm=False) as reader:
        read = reader.extract(listed, deadline_s=_DEADLINE_S)
        analysis = reader.analyse((one.packed for one in read), deadline_s=_DEADLINE_S)
    return answer_from_bytes(analysis.answer).to_dict()
