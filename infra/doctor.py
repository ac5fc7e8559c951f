"""`python3 -m infra doctor`: every probe again, the running services, and what to do about each thing that is wrong."""

from __future__ import annotations

from collections.abc import Callable

from infra.bootstrap import apt_commands, look
from infra.host import Host
from infra.local import read_state, status_lines, tail
from infra.places import Home
from infra.probes import Found, State
from infra.processes import marked
from infra.supervisor import supervised


def examine(place: Home, host: Host | None = None, print_: Callable[[str], None] = print) -> int:
    """Print the findings; 0 if nothing is wrong, 1 otherwise. Changes nothing."""
    host = host or Host()
    plan = look(host, place)
    findings = [*plan.found, *services(place)]
    width = max(len(item.name) for item in findings)
    wrong = 0
    for item in findings:
        good = item.state in (State.OK, State.NOTE)
        wrong += not good
        print_(f"{'ok  ' if good else 'BAD '}  {item.name:<{width}}  {item.text}")
        for line in advice(item):
            print_(f"      {'':<{width}}  → {line}")
    print_("Nothing is wrong." if not wrong else f"{wrong} thing{'s are' if wrong > 1 else ' is'} wrong.")
    return 1 if wrong else 0


def advice(item: Found) -> list[str]:
    """What to do, if anything."""
    lines = [item.remedy] if item.remedy else []
    if item.packages:
        lines.append(" ".join(apt_commands(("sudo",), item.packages)[1]))
    elif item.state is State.MISSING:
        lines.append("python3 -m infra up (it asks before it installs)")
    return lines


def services(place: Home) -> list[Found]:
    """The services' state, leftovers of a killed supervisor, and who may read the secrets."""
    found = []
    if supervised(place):
        lines, all_well = status_lines(place)
        if all_well:
            found.append(Found("services", State.OK, f"{len(lines) - 2} run and are well"))
        for name, entry in (read_state(place).get("services") or {}).items():
            if entry["state"] != "well":
                remark = f"{entry['state']}: {entry['last'] or 'no remark'}\n{tail(place, name, 5)}"
                found.append(Found(name, State.IMPOSSIBLE, remark, "read its log; python3 -m infra down, then up"))
    else:
        left = marked(place.mark)
        if left:
            text = f"{len(left)} processes are left of a supervisor that was killed"
            found.append(Found("services", State.IMPOSSIBLE, text, "python3 -m infra down"))
        else:
            found.append(Found("services", State.NOTE, "not running: python3 -m infra up"))
    if place.secrets.exists() and place.secrets.stat().st_mode & 0o077:
        text = f"{place.secrets} can be read by others"
        found.append(Found("secrets", State.IMPOSSIBLE, text, f"chmod 600 {place.secrets}"))
    return found
