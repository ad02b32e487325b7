"""Printed times, moved in the form in which they stand."""

import pytest

from simulator.perturb.stamps import SECOND_NS, moved, moved_wall

HOUR_NS = 3600 * SECOND_NS


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("2026-02-02T23:01:01.767523+00:00 n1 ", "2026-02-03T00:01:01.767523+00:00 n1 "),
        ("2026-06-10T19:40:39.709498123Z stdout F ", "2026-06-10T20:40:39.709498123Z stdout F "),
        ("2026/12/31 23:30:00 ", "2027/01/01 00:30:00 "),
        ("[2026-08-19 22:02:09,058] ", "[2026-08-19 23:02:09,058] "),
        ("kern  :warn  : [Wed May 27 23:23:41 2026]", "kern  :warn  : [Thu May 28 00:23:41 2026]"),
        ("[Mon Feb  9 14:26:28 2026] ", "[Mon Feb  9 15:26:28 2026] "),
        ("May  3 23:41:30 n1 kernel: ", "May  4 00:41:30 n1 kernel: "),
        ("May 03 04:41:30 n1 kernel: ", "May 03 05:41:30 n1 kernel: "),
        ("W0629 23:16:29.423000 80215 ", "W0630 00:16:29.423000 80215 "),
        ("[rank3]:[E915 17:13:47.425860697 Process", "[rank3]:[E915 18:13:47.425860697 Process"),
        (" 301 | 07/10/2026 | 05:54:12 | ", " 301 | 07/10/2026 | 06:54:12 | "),
        ("[   10.500000] ", "[ 3610.500000] "),
        ("6,2139,2599468500899,-;", "6,2139,2603068500899,-;"),
        ('"__REALTIME_TIMESTAMP":"1785511897802874"', '"__REALTIME_TIMESTAMP":"1785515497802874"'),
        ("audit(1769591491.122:79558): ", "audit(1769595091.122:79558): "),
        ("mlx5_core 0000:4f:00.0: ", "mlx5_core 0000:4f:00.0: "),
        ("2026-99-99 12:00:00 ", "2026-99-99 12:00:00 "),
    ],
)  # fmt: skip
def test_moves_a_time_by_an_hour_and_back(text: str, later: str) -> None:
    assert moved(text, HOUR_NS) == later
    assert moved(later, -HOUR_NS) == text


def test_leaves_times_since_boot_and_epochs_to_another_zone() -> None:
    text = "May 03 04:41:30 n1 kernel: [   10.500000] audit(1769591491.122:1): "
    assert moved_wall(text, HOUR_NS, epochs=False) == text.replace("04:41", "05:41")
