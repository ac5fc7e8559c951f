"""A real Prefect server for the session, and an environment of its own for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.settings import settings
from tests.conftest import Database


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture
def environment(
    prefect_server: None, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> Iterator[Path]:
    """The filing worker's environment: own database, own home; returns the corpus folder, a copy that a test may change."""
    corpora = tmp_path / "corpus"
    shutil.copytree(root / "corpus" / "sample", corpora / "sample")
    for variable in ("FILEWRIGHT_CORPUS_MIRROR", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FILEWRIGHT_DATABASE_URL", database.filing_url)
    monkeypatch.setenv("FILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FILEWRIGHT_CORPUS_FOLDER", str(corpora))
    monkeypatch.setenv("FILEWRIGHT_CORPUS_DOWNLOAD", "false")
    settings.cache_clear()
    yield corpora
    settings.cache_clear()


@pytest.fixture
def run_state() -> Callable[..., object]:
    """Run a flow and return its final state, whatever it is."""

    def run(flow: object, **parameters: object) -> object:
        return flow(**parameters, return_state=True)  # type: ignore[operator]

    return run
