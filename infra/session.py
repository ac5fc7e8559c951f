"""The running installation as settings of this process: what commands that look into the index need.

It reads what `up` wrote and opens one connection to see that the database answers. It starts nothing, and takes the read-only role: a
command that searches or evaluates can change nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

from infra import credentials, ports, services
from infra.local import NotUp
from infra.places import Home

NOT_UP = "The services are not running. Start them: python3 -m infra up"


def audit_url(home: Home, surroundings: Mapping[str, str]) -> str:
    """The database's address for the audit role. Raises NotUp where `up` has never run here or the address makes no sense."""
    from infra.postgres import DATABASE

    chosen = ports.recall(home)
    if chosen is None or not home.secrets.exists():
        raise NotUp(NOT_UP)
    secrets = credentials.load(home)
    server, database = f"127.0.0.1:{chosen.postgres}", DATABASE
    if surroundings.get("FILEWRIGHT_DATABASE_URL"):
        from infra.external_postgres import Unsuitable, parse

        try:
            address = parse(surroundings["FILEWRIGHT_DATABASE_URL"])
        except Unsuitable as error:
            raise NotUp(str(error)) from error
        server, database = address.server, address.database
    return services.role_url("filewright_audit", server, secrets.passwords, database)


def use_installation(home: Home, environment: MutableMapping[str, str] = os.environ) -> None:
    """Point this process' settings at the running installation. Call it before anything asks for settings.

    Raises NotUp where the database does not answer.
    """
    from tasks.domain.errors import TemporaryError
    from tasks.store.connection import connect

    url = audit_url(home, environment)
    try:
        with connect(url, read_only=True, application="filewright-look"):
            pass
    except TemporaryError as error:
        raise NotUp(NOT_UP) from error
    environment["FILEWRIGHT_DATABASE_URL"] = url
    environment["FILEWRIGHT_HOME"] = str(home.folder)
