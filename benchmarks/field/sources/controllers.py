"""Board controllers: event lists of several vendors, and Redfish."""

# ruff: noqa: E501
import datetime as dt
import json


def _w(at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at, dt.UTC)


Event = tuple[float, str, str, str]  # time, sensor, event, severity


def ipmi(events: list[Event]) -> str:
    """`ipmitool sel elist`."""
    rows = []
    for i, (at, sensor, event, _) in enumerate(sorted(events)):
        w = _w(at)
        rows.append(f"{i + 1:4x} | {w:%m/%d/%Y} | {w:%H:%M:%S} UTC | {sensor} | {event} | Asserted")
    return "\n".join(rows) + "\n"


def racadm(events: list[Event]) -> str:
    """`racadm getsel`."""
    rows = []
    for i, (at, sensor, event, severity) in enumerate(sorted(events)):
        rows.append(
            f"Record:      {i + 1}\nDate/Time:   {_w(at):%m/%d/%Y %H:%M:%S}\nSource:      system\nSeverity:    {severity}\nDescription: {sensor}: {event}\n-------------------------------------------------------------------------------"
        )
    return "\n".join(rows) + "\n"


def ilo(events: list[Event]) -> str:
    """HPE's integrated management log."""
    rows = ["Severity;Class;Last Update;Initial Update;Count;Description"]
    for at, sensor, event, severity in sorted(events):
        w = _w(at)
        rows.append(
            f"{severity};{sensor.split()[0]};{w:%m/%d/%Y %H:%M};{w:%m/%d/%Y %H:%M};1;{sensor} {event}"
        )
    return "\n".join(rows) + "\n"


def redfish(events: list[Event]) -> str:
    """A collection of log entries over Redfish."""
    members = [
        {
            "@odata.id": f"/redfish/v1/Systems/System_0/LogServices/SEL/Entries/{i + 1}",
            "Id": str(i + 1), "Created": f"{_w(at):%Y-%m-%dT%H:%M:%S+00:00}", "EntryType": "SEL",
            "Severity": severity, "SensorType": sensor, "Message": f"{sensor}: {event}", "Resolved": False,
        }
        for i, (at, sensor, event, severity) in enumerate(sorted(events))
    ]  # fmt: skip
    return (
        json.dumps(
            {
                "@odata.type": "#LogEntryCollection.LogEntryCollection",
                "Members": members,
                "Members@odata.count": len(members),
            },
            indent=1,
        )
        + "\n"
    )


def supermicro(events: list[Event]) -> str:
    """A Supermicro health event log saved as text."""
    rows = ["Event ID,Time Stamp,Sensor Name,Sensor Type,Description"]
    for i, (at, sensor, event, _) in enumerate(sorted(events)):
        rows.append(
            f"{i + 1},{_w(at):%Y/%m/%d %H:%M:%S},{sensor},{sensor.split()[0]},{event} - Assertion"
        )
    return "\n".join(rows) + "\n"


FORMS = {"ami": (ipmi, "sel.txt"), "supermicro": (supermicro, "health-event-log.csv"), "lenovo": (ipmi, "ipmi_sel_elist.out"), "openbmc": (redfish, "redfish-sel.json"), "dell": (racadm, "racadm_getsel.txt"), "hpe": (ilo, "iml.csv")}  # fmt: skip


def everyday(at: float) -> list[Event]:
    """Old, harmless entries of any board."""
    return [
        (at - 190 * 86400, "Event Logging Disabled SEL", "Log area reset/cleared", "Ok"),
        (at - 90 * 86400, "System Event OEM", "Timestamp Clock Sync", "Ok"),
        (at - 60 * 86400, "Physical Security Intrusion", "General Chassis intrusion ()", "Warning"),
        (at - 20 * 86400, "OS Boot", "C: boot completed", "Ok"),
    ]
