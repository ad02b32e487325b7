"""Random jobs for hypothesis."""

from hypothesis import strategies as st

from tests.parsers.flight_recorder.dumps import Recorder

NAMES = ("all_reduce", "broadcast", "_all_gather_base", "all_to_all", "barrier", "made_up")


@st.composite
def recorders(draw: st.DrawFn, most: int = 25) -> Recorder:
    """A rank that did a number of things, and stopped somewhere among them."""
    recorder = Recorder()
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from("01"), st.integers(0, 3)), max_size=most
        )
    )
    stop = draw(st.integers(0, most))
    for number, (kind, group, size) in enumerate(steps):
        done = number < stop
        if kind <= 2:
            recorder.collective(NAMES[(kind + size) % len(NAMES)], group, done)
        elif kind == 3:
            recorder.send(size, group, done, "->" if size % 2 else "<-")
        else:
            recorder.block(size, group, done, p2p=kind == 4, closed=size != 2)
    return recorder


@st.composite
def changed(draw: st.DrawFn, data: bytes) -> bytes:
    """``data`` after a few accidents."""
    bytes_ = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(bytes_) - 1, 0)))
        kind = draw(st.sampled_from(("byte", "drop", "double", "cut", "insert")))
        size = draw(st.integers(1, 60))
        if kind == "byte" and bytes_:
            bytes_[at] = draw(st.integers(0, 255))
        elif kind == "drop":
            del bytes_[at : at + size]
        elif kind == "double":
            bytes_[at:at] = bytes_[at : at + size]
        elif kind == "cut":
            del bytes_[max(at, 2) :]
        else:
            bytes_[at:at] = draw(st.binary(min_size=1, max_size=12))
    return bytes(bytes_)
