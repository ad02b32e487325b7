"""A node's collection: its file ``hostname`` says whose everything in it is."""

import pytest

from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs

XID = "[  182.114902] NVRM: Xid (PCI:0000:6d:00): 79, pid=4711, GPU has fallen off the bus.\n"


def nodes_of(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "job.log").write_text("step 3 loss 2.1\n")
    logs = read_logs(find_inputs([folder]).files)
    return {row.artifact.rpartition("/")[2]: row.node for row in logs.evidence if row.code == 79}


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"sos1__hostname": "n7\n", "sos1__sos_commands__kernel__dmesg": XID}, "n7"),
        ({"sos1__etc__hostname": "n7\n", "sos1__sos_commands__kernel__dmesg": XID}, "n7"),
        ({"hostname": "n7\n", "sos_commands__kernel__dmesg": XID}, "n7"),
        # no sosreport, or somebody else's
        ({"hostname": "n7\n", "logs__dmesg": XID}, None),
        ({"sos2__hostname": "n7\n", "sos1__sos_commands__kernel__dmesg": XID}, None),
        ({"sos1__hostname": "n7 is the node\n", "sos1__sos_commands__kernel__dmesg": XID}, None),
    ],
)
def test_a_file_hostname_names_the_node_of_its_collection(tmp_path, files, wanted):
    assert nodes_of(tmp_path, **files)["dmesg"] == wanted


def test_two_collections_are_of_two_nodes(tmp_path):
    found = nodes_of(
        tmp_path,
        a__hostname="n7\n", a__sos_commands__kernel__dmesg=XID,
        b__hostname="n8\n", b__sos_commands__kernel__kmsg=XID,
    )  # fmt: skip

    assert found == {"dmesg": "n7", "kmsg": "n8"}
