"""Ingest as a Prefect flow against a real database: what opens, what is rejected, what costs nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fpdf import FPDF
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State

from flows.ingest import ingest
from tasks.domain.errors import PermanentError
from tasks.filing import open_index
from tasks.settings import settings
from tests.conftest import Database

DOCUMENT_BOXES = {"extract", "dehyphenate", "chunk", "embed", "upsert"}


def run(corpus: str = "sample") -> State[Any]:
    return ingest(corpus, return_state=True)  # type: ignore[no-any-return]


def states(database: Database) -> list[str]:
    with psycopg.connect(database.audit_url) as connection:
        return [row[0] for row in connection.execute("SELECT state FROM corpus.generations ORDER BY id")]


def artifacts() -> dict[str, Any]:
    with get_client(sync_client=True) as client:
        return {artifact.key: artifact for artifact in client.read_latest_artifacts()}


def newly_embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are embedded from now on."""
    from tasks.retrieval.embedding import Embedder

    seen: list[str] = []
    passages = Embedder.passages

    def counted(self: Embedder, texts: Any) -> Any:
        seen.extend(texts)
        return passages(self, texts)

    monkeypatch.setattr(Embedder, "passages", counted)
    return seen


def pdf(path: Path, text: str, *, password: str = "") -> str:
    document = FPDF()
    document.add_page()
    document.set_font("Helvetica", size=12)
    document.multi_cell(0, 8, text)
    if password:
        document.set_encryption(owner_password=password, user_password=password)
    document.output(str(path))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def add(corpora: Path, name: str, sha256: str) -> None:
    with (corpora / "sample" / "corpus.toml").open("a") as file:
        file.write(f'\n[[documents]]\nname = "{name}"\ntitle = "Added"\nsha256 = "{sha256}"\n')


def test_the_sample_corpus_opens_and_a_second_run_costs_nothing(
    environment: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    assert first.is_completed(), first.message
    assert "is open" in str(first.message)
    embedded = newly_embedded(monkeypatch)
    second = run()
    assert "Nothing changed" in str(second.message)
    assert embedded == []
    assert states(database) == ["open"]
    shown = artifacts()
    assert "opened" in shown["index-gate-sample"].data
    assert len(json.loads(shown["golden-questions-sample"].data)) >= 14
    assert {row["status"] for row in json.loads(shown["documents-sample"].data)} == {"ok"}
    with get_client(sync_client=True) as client:
        names = {task_run.name.split()[0] for task_run in client.read_task_runs()}
    assert names >= DOCUMENT_BOXES | {"plan", "draft", "index"}


def test_a_new_document_embeds_its_own_text_and_no_other(
    environment: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run().is_completed()
    embedded = newly_embedded(monkeypatch)
    digest = pdf(environment / "sample" / "documents" / "added.pdf", "Nothing to do with pharmacies at all.")
    add(environment, "added.pdf", digest)
    assert run().is_completed()
    assert embedded == ["Nothing to do with pharmacies at all."]
    assert states(database) == ["superseded", "open"]


@pytest.mark.parametrize(
    ("name", "status"),
    [("locked.pdf", "encrypted"), ("broken.pdf", "broken"), ("empty.pdf", "empty"), ("absent.pdf", "missing")],
)
def test_a_document_that_cannot_be_read_fails_the_run_and_stops_nothing_else(
    environment: Path, database: Database, name: str, status: str
) -> None:
    path = environment / "sample" / "documents" / name
    if status == "encrypted":
        digest = pdf(path, "Secret.", password="secret")
    elif status == "absent" or name == "absent.pdf":
        digest = "0" * 64
    else:
        path.write_bytes(b"%PDF-1.7 cut off" if status == "broken" else b"")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    add(environment, name, digest)
    state = run()
    assert state.is_failed()
    assert name in str(state.message) and status in str(state.message)
    assert states(database) == ["open"]
    rows = {row["document"]: row for row in json.loads(artifacts()["documents-sample"].data)}
    assert rows[name]["status"] == status and rows[name]["reason"]
    assert {row["status"] for other, row in rows.items() if other != name} == {"ok"}


def test_an_address_that_does_not_answer_is_that_document_s_status(
    environment: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILEWRIGHT_CORPUS_DOWNLOAD", "true")
    settings.cache_clear()
    add(environment, "far.pdf", "0" * 64)
    with (environment / "sample" / "corpus.toml").open("a") as file:
        file.write('url = "https://127.0.0.1:9/far.pdf"\n')
    state = run()
    assert state.is_failed() and "far.pdf: missing" in str(state.message)
    assert states(database) == ["open"]


def without_answers(environment: Path) -> None:
    """Replace every document of the corpus by one that answers nothing."""
    folder = environment / "sample"
    shutil.rmtree(folder / "documents")
    (folder / "documents").mkdir()
    digest = pdf(folder / "documents" / "empty-words.pdf", "This page says nothing about any regulation. " * 30)
    (folder / "corpus.toml").write_text('title = "Without answers"\n')
    add(environment, "empty-words.pdf", digest)


def test_a_corpus_without_the_answers_is_rejected_and_filing_refuses(environment: Path, database: Database) -> None:
    without_answers(environment)
    state = run()
    assert state.is_failed()
    assert "rejected" in str(state.message) and "recall at 4" in str(state.message)
    assert states(database) == ["rejected"]
    with pytest.raises(PermanentError, match="No index of corpus sample is open"):
        open_index.fn("sample")


def test_a_rejected_draft_leaves_the_old_index_serving_and_filing_says_so(
    environment: Path, database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run().is_completed()
    without_answers(environment)
    assert run().is_failed()
    assert states(database) == ["open", "rejected"]
    logger = logging.getLogger("filing-test")
    monkeypatch.setattr("tasks.filing.get_run_logger", lambda: logger)
    with caplog.at_level(logging.WARNING, logger="filing-test"):
        assert open_index.fn("sample") == 1
    assert "newer generation 2 was rejected" in caplog.text


def test_a_corpus_without_golden_questions_never_opens(environment: Path, database: Database) -> None:
    (environment / "sample" / "golden.jsonl").unlink()
    state = run()
    assert state.is_failed() and "golden" in str(state.message)
    assert "open" not in states(database)


def test_an_unknown_corpus_is_refused_in_words(environment: Path) -> None:
    state = run("no-such-corpus")
    assert state.is_failed() and "There is no corpus" in str(state.message)
