"""Numbers as lines print them: read where they are sane, None where they are not."""

# More digits than any counter has; Python itself refuses some thousands.
_MAX_DIGITS = 18


def parse_small_number(text: str | None) -> int | None:
    """The number that ``text`` is, None where it is none or longer than a counter.

    >>> small("812"), small("9" * 5000), small("²"), small(None)
    (812, None, None, None)
    """
    if not text or len(text) > _MAX_DIGITS or not text.isascii() or not text.isdecimal():
        return None
    return int(text)
