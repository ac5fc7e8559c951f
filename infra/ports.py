"""Ports on the loopback interface: free ones, kept from start to start, or the ones that FILEWRIGHT_PORT_<SERVICE> names."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from infra.places import Home

SERVICES = ("postgres", "prefect", "portal", "model", "filing", "audit")
PREFIX = "FILEWRIGHT_PORT_"


class PortTaken(RuntimeError):
    """A port that was asked for by name belongs to another program, or is no port."""


@dataclass(frozen=True)
class Ports:
    """`filing` and `audit` are the workers' health checks."""

    postgres: int
    prefect: int
    portal: int
    model: int
    filing: int
    audit: int


def variable(service: str) -> str:
    return PREFIX + service.upper()


def free(port: int) -> bool:
    """Whether this process could listen on 127.0.0.1:`port` now."""
    with socket.socket() as probe:
        # As the servers do: connections of an earlier server that linger in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def choose(
    home: Home,
    surroundings: Mapping[str, str],
    ours: Callable[[str, int], bool] = lambda service, port: False,
) -> Ports:
    """The port of every service, remembered in ports.json.

    `ours` says that a service of this installation listens on a port already. Raises PortTaken for a port asked for by name.
    """
    remembered = _read(home)
    chosen: dict[str, int] = {}
    for service in SERVICES:
        asked = surroundings.get(variable(service), "")
        if asked:
            if not asked.isdigit() or not 1 <= int(asked) <= 65535:
                raise PortTaken(f"{variable(service)}={asked} is no port: 1 to 65535")
            port = int(asked)
            if port in chosen.values():
                raise PortTaken(f"{variable(service)}={asked} is given to another service already")
            if not (ours(service, port) or free(port)):
                raise PortTaken(f"{variable(service)}={asked} is in use by another program")
        else:
            port = remembered.get(service, 0)
            if not port or port in chosen.values() or not (ours(service, port) or free(port)):
                port = any_free()
                while port in chosen.values() or port in remembered.values():
                    port = any_free()
        chosen[service] = port
    home.make()
    draft = home.ports.with_suffix(".draft")
    draft.write_text(json.dumps(chosen, indent=1), encoding="utf-8")
    draft.replace(home.ports)
    return Ports(**chosen)


def recall(home: Home) -> Ports | None:
    """The ports of the last start, or None."""
    known = _read(home)
    return Ports(**known) if known.keys() == set(SERVICES) else None


def _read(home: Home) -> dict[str, int]:
    try:
        stored = json.loads(home.ports.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}  # a damaged list of ports is worth no more than none
    if not isinstance(stored, dict):
        return {}
    return {name: port for name, port in stored.items() if name in SERVICES and isinstance(port, int)}
