"""Looks at the subject of a commit: `python3 -m tools.commit_subject FILE`, as git's hook does."""

import sys
from pathlib import Path

_MAX_CHARACTERS = 72
# git writes these itself.
_WRITTEN_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ")


def complaint(message: str) -> str | None:
    """What is wrong with a commit's message; None where nothing is."""
    subject, _, rest = message.partition("\n")
    if subject.startswith(_WRITTEN_BY_GIT):
        return None
    if not subject.strip():
        return "the subject is empty; say what the commit does, in the imperative"
    if len(subject) > _MAX_CHARACTERS:
        return f"the subject has {len(subject)} characters; at most {_MAX_CHARACTERS} fit"
    if subject.endswith("."):
        return "the subject ends in a full stop; leave it out"
    if not subject[0].isupper():
        return "the subject begins with a small letter; begin with a verb, as in 'Read ...'"
    if rest and not rest.startswith("\n"):
        return "the second line is not empty; leave one between subject and body"
    return None


def _main() -> int:
    """Print the complaint about the message in a file; 1 where there is one."""
    why = complaint(Path(sys.argv[1]).read_text("utf-8"))
    if why is not None:
        print(f"commit message: {why}", file=sys.stderr)
    return 0 if why is None else 1


if __name__ == "__main__":
    sys.exit(_main())
