"""The server as a process: what it starts with, what it must not have, and what it must not import."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.offline_model.__main__ import ALLOWED_ENVIRONMENT, allowed_environment

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "infra" / "offline_model"

PLANTED = {
    "FILEWRIGHT_DATABASE_URL": "postgresql://filing:secret@127.0.0.1/filewright",
    "PORTAL_DATABASE_URL": "postgresql://portal:secret@127.0.0.1/filewright",
    "FILEWRIGHT_CORPUS_FOLDER": "/somewhere/corpus/sample",
    "FILEWRIGHT_CORPUS_MIRROR": "/somewhere/mirror",
    "ANTHROPIC_API_KEY": "a-key-that-must-not-be-known",
    "PREFECT_API_URL": "http://127.0.0.1:4200/api",
    "PGPASSWORD": "secret",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def process() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server as it is started in earnest, from an environment full of secrets."""
    port = free_port()
    command = [sys.executable, "-m", "infra.offline_model", "--port", str(port)]
    running = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **PLANTED})
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 30
        while True:
            assert running.poll() is None, "the server ended before it answered"
            try:
                httpx.get(f"{url}/health", timeout=2)
                break
            except httpx.TransportError:
                assert time.monotonic() < deadline, "the server did not answer in 30 s"
                time.sleep(0.05)
        yield running, url
    finally:
        running.terminate()
        running.wait(10)


def test_it_answers_on_the_port_it_was_given(process: tuple[subprocess.Popen[bytes], str]) -> None:
    health = httpx.get(f"{process[1]}/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert health.headers["request-id"].startswith("req_")


def test_its_environment_holds_no_database_no_corpus_and_no_key(process: tuple[subprocess.Popen[bytes], str]) -> None:
    raw = Path(f"/proc/{process[0].pid}/environ").read_bytes().decode()
    names = {entry.partition("=")[0] for entry in raw.split("\0") if entry}
    assert "PATH" in names
    assert names <= set(ALLOWED_ENVIRONMENT)
    assert not any(value in raw for value in PLANTED.values())


def test_it_has_none_of_our_packages_loaded() -> None:
    code = (
        "import sys, infra.offline_model.server, infra.offline_model.service, infra.offline_model.__main__\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'tasks', 'flows', 'portal', 'prefect', "
        "'psycopg', 'anthropic'}), sorted(name for name in sys.modules if name.startswith('infra.') "
        "and not name.startswith('infra.offline_model')))"
    )
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[] []"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_no_module_imports_anything_of_ours(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, "a relative import must stay inside the package"
            names = [] if node.level else [node.module or ""]
        assert not {name.partition(".")[0] for name in names} & {"tasks", "flows", "portal", "infra", "corpus", "tests"}


def test_only_the_allowed_names_are_kept() -> None:
    assert allowed_environment({**PLANTED, "PATH": "/usr/bin", "LANG": "C.UTF-8"}) == {
        "PATH": "/usr/bin",
        "LANG": "C.UTF-8",
    }
