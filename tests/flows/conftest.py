"""An environment of its own for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.settings import settings
from tests.conftest import Database


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
