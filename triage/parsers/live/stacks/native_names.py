"""The name of a C or C++ function without its parameters and arguments, as py-spy prints it."""

__all__ = ["bare_name"]


def bare_name(call: str) -> str:
    """``ncclProxyProgress(void*) (arg=0x1)`` is ``ncclProxyProgress``."""
    name = without_last_group(call.strip())
    for ending in (" const", " volatile", " &"):
        name = name.removesuffix(ending)
    # What gdb adds of a symbol's version: "pthread_cond_wait@@GLIBC_2.3.2"
    name = name.partition("@@")[0]
    return without_last_group(name) or call.strip()


def without_last_group(text: str) -> str:
    """A text without the parentheses that it ends with; ``operator()`` keeps its own."""
    if not text.endswith(")") or text.endswith(("operator()", "(anonymous namespace)")):
        return text
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] == ")":
            depth += 1
        elif text[place] == "(":
            depth -= 1
            if not depth:
                return text[:place].rstrip()
    # Its beginning is lost: the arguments were longer than what is kept.
    return text.partition("(")[0].rstrip()
