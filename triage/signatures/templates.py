"""Templates: the shapes of all lines, also of those that no signature knows.

A line's numbers, paths and names with digits are masked in the compiled pass;
what is left are some hundred or thousand different texts. A tree in the manner of
Drain (He et al., 2017) joins those that differ in few words. Texts go in sorted,
so the templates do not depend on the order of files, and a template's id is a
hash of its words: the same shape has the same id in every incident.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.parsers.logs.logset import TemplateCount

ANY: Final = "<*>"
_MARK: Final = "\x01"
# Of the words of two texts, the share that must agree for one template.
_MIN_ALIKE: Final = 0.6
# Words by which the tree branches; the first ones name the program and the matter.
_DEPTH: Final = 2
_MAX_WORDS: Final = 60
_MAX_TEMPLATES: Final = 20_000
_MAX_IN_LEAF: Final = 200


@dataclass(frozen=True, slots=True)
class Template:
    """One shape of line."""

    id: str
    text: str


class Cluster:
    """Words of a template that is still being made; None where texts differ."""

    __slots__ = ("members", "words")

    def __init__(self, words: list[str], member: bytes) -> None:
        self.words = words
        self.members = [member]

    def alike(self, words: Sequence[str]) -> float:
        """The share of words that agree; a wildcard agrees with nothing."""
        same = sum(
            one == other and one != ANY for one, other in zip(self.words, words, strict=True)
        )
        return same / len(words)

    def take(self, words: Sequence[str], member: bytes) -> None:
        """Add a member; words in which it differs become wildcards."""
        self.words = [
            one if one == other else ANY for one, other in zip(self.words, words, strict=True)
        ]
        self.members.append(member)


def build_templates(masks: Collection[bytes]) -> dict[bytes, Template]:
    """Masked text -> its template."""
    leaves: dict[tuple[object, ...], list[Cluster]] = {}
    clusters: list[Cluster] = []
    for mask in sorted(masks):
        words = mask.decode("utf-8", "replace").replace(_MARK, ANY).split(" ")[:_MAX_WORDS]
        leaf = leaves.setdefault((len(words), *words[:_DEPTH]), [])
        best = max(leaf, key=lambda one: one.alike(words), default=None)
        full = len(leaf) >= _MAX_IN_LEAF or len(clusters) >= _MAX_TEMPLATES
        if best is not None and (full or best.alike(words) >= _MIN_ALIKE):
            best.take(words, mask)
            continue
        if full:
            words = [ANY] * len(words)  # no room for one more shape of its own
        leaf.append(Cluster(words, mask))
        clusters.append(leaf[-1])
    found: dict[bytes, Template] = {}
    for one in clusters:
        text = " ".join(one.words)
        template = Template(hashlib.blake2b(text.encode(), digest_size=6).hexdigest(), text)
        found.update(dict.fromkeys(one.members, template))
    return found


def count_templates(
    masks: Iterable[tuple[bytes, int, int, int]], named: Mapping[bytes, Template]
) -> tuple[TemplateCount, ...]:
    """The counts of one file by template, from (masked text, lines, first line, last line)."""
    found: dict[str, tuple[int, int, int]] = {}
    for text, lines, first, last in masks:
        key = named[text].id
        known = found.get(key)
        if known is not None:
            lines, first, last = lines + known[0], min(first, known[1]), max(last, known[2])
        found[key] = (lines, first, last)
    return tuple(
        TemplateCount(key, lines, first, last)
        for key, (lines, first, last) in sorted(found.items(), key=lambda one: (one[1][1], one[0]))
    )
