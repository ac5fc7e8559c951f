"""A service as data: what is run, with which environment, after what, and how one sees that it is well."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

HEALTH_SECONDS = 5.0


@dataclass(frozen=True)
class Service:
    """One process to keep running.

    `health` is "http://…" (200 is well), "postgres://host:port" (the server speaks the protocol) or "" (running is well).
    `after` names services that must be well before this one starts. `source` is a digest of the code it runs, so that an edit
    restarts it. `address` is shown to people.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str = "/"
    health: str = ""
    after: tuple[str, ...] = ()
    start_seconds: float = 60.0
    stop_signal: int = int(signal.SIGTERM)
    stop_seconds: float = 10.0
    address: str = ""
    source: str = ""

    def fingerprints(self) -> dict[str, str]:
        """One short digest per variable, and one each for command and source: enough to say what differs, not what it is."""
        parts = {f"variable {name}": value for name, value in self.environment.items()}
        parts["command"] = json.dumps([*self.command, self.folder])
        parts["source"] = self.source
        return {
            name: hashlib.sha256(f"{self.name}\0{name}\0{value}".encode()).hexdigest()[:12]
            for name, value in parts.items()
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def service_from_json(value: Mapping[str, Any]) -> Service:
    """Raises TypeError or KeyError for anything that `to_json` did not write."""
    return Service(**{**value, "command": tuple(value["command"]), "after": tuple(value.get("after", ()))})


def differences(service: Service, running: Mapping[str, str]) -> list[str]:
    """What of `service` differs from the fingerprints of the running one: variables' names, "command", "source"."""
    wanted = service.fingerprints()
    return sorted(
        name.removeprefix("variable ")
        for name in wanted.keys() | running.keys()
        if wanted.get(name) != running.get(name)
    )


def well(health: str, seconds: float = HEALTH_SECONDS) -> str:
    """Nothing if the service answers as it should, else why not. Never raises for what the service does."""
    if not health:
        return ""
    if health.startswith("postgres://"):
        return _postgres_answers(health, seconds)
    # No proxy: a company's proxy knows nothing of this machine's loopback address.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(health, timeout=seconds) as response:
            return "" if response.status == 200 else f"answers {response.status}"
    except urllib.error.HTTPError as error:
        with error:
            return f"answers {error.code}"
    except (OSError, ValueError) as error:
        return f"does not answer ({error})"


def _postgres_answers(health: str, seconds: float) -> str:
    host, _, port = health.removeprefix("postgres://").partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=seconds) as connection:
            # SSLRequest of the frontend/backend protocol: a server answers S or N, whoever asks.
            connection.sendall(struct.pack("!ii", 8, 80877103))
            return "" if connection.recv(1) in (b"S", b"N") else "does not speak Postgres' protocol"
    except OSError as error:
        return f"does not answer ({error})"
