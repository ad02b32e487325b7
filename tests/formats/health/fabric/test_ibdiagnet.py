"""ibdiagnet's log and tables: whose a bad link is."""

import pytest

from tests.formats.health.fabric.links import db_csv, diagnet_log, link_info, net_dump
from tests.formats.health.reading import checks_of, format_of

GREW = '"symbol_error_counter" increased during the run (difference value=117,difference=1)'


def results(text):
    checks = checks_of(text)
    assert checks is not None
    return [
        (one.node, one.part, str(one.outcome), one.category and str(one.category))
        for one in checks.results
    ]


def details(text):
    checks = checks_of(text)
    assert checks is not None
    return [one.detail for one in checks.results]


class TestLog:
    def test_what_grew_during_the_run_fails_at_its_node(self):
        assert results(diagnet_log(f"-E- n3/U1/P1 - {GREW}")) == [("n3", "port 1", "fail", "nic")]

    def test_a_link_that_is_bad_at_both_ends_is_the_cable(self):
        text = diagnet_log("-E- Link: leaf7/U1/P21<-->n3/U1/P1 - Unexpected actual link speed 100")

        assert results(text) == [("n3", "port 1", "fail", "network")]
        assert "at both ends: the cable" in details(text)[0]

    def test_several_nodes_of_one_leaf_accuse_none_of_them(self):
        links = [f"-E- Link: leaf7/U1/P{20 + k}<-->n{k}/U1/P1 - {GREW}" for k in range(3)]
        text = diagnet_log(*links)

        assert {outcome for _, _, outcome, _ in results(text)} == {"warn"}
        assert "3 nodes on leaf7" in details(text)[0]
        assert {outcome for _, _, outcome, _ in results(diagnet_log(*links[:2]))} == {"fail"}

    def test_a_port_of_a_switch_accuses_nobody(self):
        text = diagnet_log(f"-E- leaf7/U1/P2 - {GREW}", f"-E- leaf7/U1/P21 - {GREW}")
        checks = checks_of(text)

        assert checks is not None
        assert not checks.results
        assert "leaf7" in checks.not_understood[0].why

    @pytest.mark.parametrize("line", ["-W- lid=0x0fb5 dev=4129 n3/U1/P1", "-I- n3/U1/P1 - error 3"])
    def test_warnings_and_notes_say_nothing(self, line):
        assert results(diagnet_log(line)) == []


class TestTables:
    def test_a_total_warns_and_both_ends_are_one_link(self):
        text = db_csv(("0x1", 21, 6), ("0xa", 1, 6))

        assert results(text) == [("n3", "mlx5_3/1", "warn", "network")]
        assert "both ends" in details(text)[0]

    def test_one_end_alone_is_the_adapter(self):
        assert results(db_csv(("0xa", 1, 6), ("0xb", 1, 0))) == [
            ("n3", "mlx5_3/1", "warn", "nic"),
            ("n4", "mlx5_4/1", "pass", None),
        ]

    def test_the_switchs_end_alone_is_the_link_of_the_node_behind_it(self):
        assert results(db_csv(("0x1", 22, 3))) == [("n4", "mlx5_4/1", "warn", "network")]

    def test_a_counter_that_is_not_supported_is_none(self):
        assert results(db_csv(("0xa", 1, -1))) == []

    def test_a_table_of_something_else_is_none(self):
        assert format_of("START_NODES of the job\nname,port,step\n") == "log"


def test_the_dump_of_a_net_names_nodes_and_passes_over_open_ports():
    text = net_dump((21, "ACT", "n3 mlx5_3"), (22, "DOWN", ""), (23, "INIT", "n4 mlx5_4"))

    assert [(node, outcome) for node, _, outcome, _ in results(text)] == [
        ("n3", "pass"), ("n4", "fail"),
    ]  # fmt: skip


@pytest.mark.parametrize(("note", "wanted"), [("", "pass"), ("Could be 200.0 Gbps ", "warn")])
def test_links_that_could_be_faster_warn(note, wanted):
    assert [(node, outcome) for node, _, outcome, _ in results(link_info(note))] == [("n3", wanted)]
