"""Where the ranks stand, in a few lines."""

from tests.render import answers
from triage.render.words.stacks import stack_lines


def test_no_stacks_are_no_lines():
    assert stack_lines(answers.culprit()) == []
