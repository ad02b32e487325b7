"""The colours of ``/docs`` can be read, light and dark, by browsers of any age."""

import re

import pytest

from triage.api.description.openapi import read_content


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def palettes() -> dict[str, dict[str, str]]:
    css = read_content("docs.css").decode()
    light, dark = re.findall(r":root \{([^}]*)\}", css)
    return {
        name: dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6});", text))
        for name, text in (("light", light), ("dark", dark))
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_that_is_written_stands_out(scheme: str) -> None:
    colours = palettes()[scheme]
    for text in ("ink", "ok", "no", "mark"):
        for ground in ("paper", "soft"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_each_colour_has_its_other_one_and_the_page_its_ground() -> None:
    found = palettes()
    assert found["light"].keys() == found["dark"].keys()
    css = read_content("docs.css").decode()
    assert "html { background: var(--paper); color: var(--ink); }" in css
    used = set(re.findall(r"var\(--([a-z]+)\)", css))
    assert used <= found["light"].keys()
    assert "light-dark(" not in css
