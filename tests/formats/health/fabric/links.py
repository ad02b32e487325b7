"""Small reports on the links of a fabric, as mlxlink, ibdiagnet and iblinkinfo print them."""

import json

SECTIONS = {
    "Operational Info": {"State": "Active", "Physical state": "LinkUp", "Speed": "IB-NDR"},
    "Troubleshooting Info": {"Status Opcode": "0", "Recommendation": "No issue was observed"},
    "Physical Counters and BER Info": {
        "Time Since Last Clear [Min]": "10.5", "Effective Physical BER": "15E-255",
        "Link Down Counter": "0",
    },
}  # fmt: skip


def sections(**differs):
    names = {name.replace(" ", "_").lower(): name for part in SECTIONS.values() for name in part}
    given = {names[key]: value for key, value in differs.items()}
    return {
        title: {name: given.get(name, value) for name, value in part.items()}
        for title, part in SECTIONS.items()
    }


def mlxlink(**differs):
    text = ""
    for title, part in sections(**differs).items():
        text += f"\n{title}\n{'-' * len(title)}\n"
        text += "".join(f"{name:<35}: {value} \n" for name, value in part.items())
    return text


def mlxlink_json(**differs):
    result = {"result": {"output": sections(**differs)}, "status": {"code": 0}}
    return json.dumps(result, indent=2)


def diagnet_log(*lines):
    head = "-" * 45 + "\nPort Counters\n-I- Ports counters retrieving finished successfully\n"
    return head + "".join(f"{line}\n" for line in lines) + "-I- Stage     Warnings   Errors\n"


def db_csv(*counted, links=(("0x1", 21, "0xa", 1), ("0x1", 22, "0xb", 1), ("0x1", 23, "0xc", 1))):
    """Nodes n3, n4 and n5 (0xa, 0xb, 0xc) on leaf7 (0x1); counted are (guid, port, links down)."""
    text = "START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID,PortGUID\n"
    text += '"MF0;leaf7:MQM9700/U1",65,2,0x1,0x1\n'
    for k, guid in ((3, "0xa"), (4, "0xb"), (5, "0xc")):
        text += f'"n{k} mlx5_{k}",1,1,{guid},{guid}\n'
    text += "END_NODES\n\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n"
    text += "".join(",".join(map(str, link)) + "\n" for link in links)
    text += (
        "END_LINKS\n\nSTART_PM_INFO\nNodeGUID,PortGUID,PortNumber,LinkDownedCounter,PortRcvErrors\n"
    )
    text += "".join(f"{guid},{guid},{port},{downs},-1\n" for guid, port, downs in counted)
    return text + "END_PM_INFO\n"


def net_dump(*rows):
    text = '"MF0;leaf7:MQM9700/U1", Mellanox, 0xfc6a1c0300e1a040, LID 117\n'
    text += "# : IB# : Sta : PhysSta : MTU : LWA : LSA : Neighbor Description\n"
    for port, state, neighbour in rows:
        name = f'"{neighbour}"' if neighbour else "N/A"
        text += f"11/1/1 : {port} : {state} : LINK_UP : 5 : 4x : 100 : {name}\n"
    return text


def link_info(note=""):
    return (
        "Switch: 0xfc6a1c0300e1a040 MF0;leaf7:MQM9700/U1:\n"
        "         117   21[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>    4021    1[  ]"
        f' "n3 mlx5_3" ( {note})\n'
        '         117   22[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
        "CA: n3 mlx5_3:\n"
        "      0xb8e924030047c1d2   4021    1[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>"
        '     117   21[  ] "MF0;leaf7:MQM9700/U1" ( )\n'
    )
