"""Ingest as a Prefect flow against a real database: what opens, what is rejected, what costs nothing, what is lost never.

Two corpora: a copy of the sample, and `own`, which a test writes itself: ten rules in four documents, with a question each.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State

import flows.ingest
from flows.ingest import ingest
from tasks import ingest as boxes
from tasks.documents.ocr import recogniser
from tasks.domain.errors import PermanentError
from tasks.filing import open_index
from tasks.retrieval.generations import generation, live_documents, serving_generation
from tasks.retrieval.search import Index
from tasks.settings import settings
from tasks.store.connection import connect
from tests.conftest import REPOSITORY, Database

DOCUMENT_BOXES = {"extract", "dehyphenate", "chunk", "embed", "upsert"}
ANIMALS = ("zebra", "walrus", "otter", "badger", "heron", "lemur", "bison", "gecko", "moose", "raven")
ALONE = ("zebra", "otter", "gecko")
DOCUMENTS = 1 + len(ALONE)


# --------------------------------------------------------------------------------------------------------------------- small parts
def run(corpus: str = "sample") -> State[Any]:
    return ingest(corpus, return_state=True)  # type: ignore[no-any-return]


def query(database: Database, statement: str) -> list[Any]:
    with psycopg.connect(database.audit_url) as connection:
        rows = connection.execute(statement).fetchall()  # type: ignore[arg-type]  # written out in this file
    return [row[0] if len(row) == 1 else row for row in rows]


def states(database: Database) -> list[str]:
    return query(database, "SELECT state FROM corpus.generations ORDER BY id")


def artifacts() -> dict[str, Any]:
    with get_client(sync_client=True) as client:
        return {artifact.key: artifact for artifact in client.read_latest_artifacts()}


def table(corpus: str = "own") -> dict[str, dict[str, Any]]:
    """The rows of the run's table of documents, by name."""
    return {row["document"]: row for row in json.loads(artifacts()[f"documents-{corpus}"].data)}


def verdict(corpus: str = "own") -> str:
    return str(artifacts()[f"index-gate-{corpus}"].data)


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


def newly_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read from now on."""
    seen: list[str] = []
    extract = boxes.extract

    def counted(path: Path, name: str, *rest: Any, **named: Any) -> Any:
        seen.append(name)
        return extract(path, name, *rest, **named)

    monkeypatch.setattr(boxes, "extract", counted)
    return seen


def pdf(path: Path, *pages: str, password: str = "") -> str:
    document = FPDF()
    document.set_font("Helvetica", size=12)
    for text in pages:
        document.add_page()
        document.multi_cell(0, 8, text)
    if password:
        document.set_encryption(owner_password=password, user_password=password)
    path.parent.mkdir(parents=True, exist_ok=True)
    document.output(str(path))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def scan(path: Path, text: str) -> None:
    """A PDF of pictures only; without text the picture is blank."""
    picture = Image.new("L", (1240, 1754), "white")
    font = ImageFont.load_default(size=40)
    ImageDraw.Draw(picture).multiline_text((120, 150), textwrap.fill(text, 45), fill="black", font=font, spacing=16)
    document = FPDF()
    document.add_page()
    document.image(picture, x=0, y=0, w=210)
    document.output(str(path))


def add(corpora: Path, name: str, sha256: str) -> None:
    with (corpora / "sample" / "corpus.toml").open("a") as file:
        file.write(f'\n[[documents]]\nname = "{name}"\ntitle = "Added"\nsha256 = "{sha256}"\n')


def rule(animal: str) -> str:
    number = ANIMALS.index(animal) + 1
    return (
        f"The {animal} rule. Compliance with the {animal} rule is required from March {number}, 2021. "
        f"Every keeper of a {animal} shall register the animal with the department and renew the registration each year. "
    )


class Corpus:
    """A corpus that a test writes: files, entries and questions; `save` writes corpus.toml and golden.jsonl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = folder / "documents"
        self.entries: dict[str, dict[str, str]] = {}
        self.questions: list[dict[str, Any]] = []
        self.unlisted = "refuse"
        self.documents.mkdir(parents=True)

    def put(self, name: str, *pages: str, title: str = "", **fields: str) -> str:
        """Write a PDF and name it; returns its sha256."""
        self.entries[name] = {"title": title or f"Title of {name}", **fields}
        return pdf(self.documents / name, *pages)

    def ask(self, animal: str, document: str) -> None:
        self.questions.append(
            {
                "id": animal,
                "question": f"From what day is compliance with the {animal} rule required?",
                "document": document,
                "pages": list(range(1, len(ANIMALS))),
                "answer_patterns": [f"March {ANIMALS.index(animal) + 1}, 2021"],
                "answerable": True,
            }
        )

    def save(self) -> None:
        lines = ['title = "Animals"', f'unlisted = "{self.unlisted}"']
        for name, fields in self.entries.items():
            values = (
                f"{key} = {value if key.startswith('effective') else json.dumps(value)}"
                for key, value in fields.items()
            )
            lines += ["", "[[documents]]", f"name = {json.dumps(name)}", *values]
        (self.folder / "corpus.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        path = self.folder / "golden.jsonl"
        path.unlink(missing_ok=True)
        if self.questions:
            path.write_text("".join(json.dumps(each) + "\n" for each in self.questions), encoding="utf-8")

    def run(self) -> State[Any]:
        self.save()
        return run("own")


@pytest.fixture
def own(environment: Path) -> Corpus:
    """Ten rules about ten animals and a question about each: three in PDFs of their own, seven as pages of one."""
    corpus = Corpus(environment / "own")
    others = [animal for animal in ANIMALS if animal not in ALONE]
    corpus.put("others.pdf", *(rule(animal) for animal in others))
    for animal in ALONE:
        corpus.put(f"{animal}.pdf", rule(animal))
    for animal in ANIMALS:
        corpus.ask(animal, f"{animal}.pdf" if animal in ALONE else "others.pdf")
    return corpus


def found(database: Database, question: str, corpus: str = "own") -> list[str]:
    """The documents that a search of what serves returns."""
    with connect(database.filing_url, read_only=True) as connection:
        serving = serving_generation(connection, corpus)
    assert serving is not None
    index = Index(database.filing_url, serving, settings().store.home / "bm25")
    return [passage.chunk.document for passage in index.search(question, 4).passages]


def child(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, which reports to the same Prefect server."""
    with get_client(sync_client=True) as client:
        address = str(client.api_url)
    environment = {**os.environ, "PREFECT_API_URL": address, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPOSITORY,
    )


# ------------------------------------------------------------------------------------------------------------------ what costs nothing
def test_the_sample_corpus_opens_and_a_second_run_costs_nothing(
    environment: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    assert first.is_completed(), first.message
    assert "is open" in str(first.message)
    embedded, read = newly_embedded(monkeypatch), newly_read(monkeypatch)
    monkeypatch.setattr("tasks.ingest.load_embedder", lambda name: pytest.fail("a model was loaded"))
    second = run()
    assert "Nothing changed" in str(second.message)
    assert embedded == read == []
    assert states(database) == ["open"]
    shown = artifacts()
    assert "opened" in shown["index-gate-sample"].data
    questions = json.loads(shown["golden-questions-sample"].data)
    assert len(questions) >= 30 and any(row["rank"] == 1 for row in questions)
    kinds = {row["kind"]: row for row in json.loads(shown["golden-kinds-sample"].data)}
    assert len(kinds) > 3 and float(kinds["all"]["recall at 4"]) >= 0.8
    assert {row["status"] for row in table("sample").values()} == {"ok"}
    with get_client(sync_client=True) as client:
        names = {task_run.name.split()[0] for task_run in client.read_task_runs()}
    assert names >= DOCUMENT_BOXES | {"plan", "draft", "index"}
    (evaluation,) = query(database, "SELECT evaluation FROM corpus.generations")
    assert evaluation["score"]["recall_at_4"] >= 0.8 and len(evaluation["golden"]) == 64
    assert len(evaluation["ranks"]) == evaluation["score"]["evaluated"]
    assert set(evaluation["by_kind"]) == set(kinds) - {"all"}


def test_a_changed_file_is_read_again_and_no_other(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.run().is_completed()
    embedded, read = newly_embedded(monkeypatch), newly_read(monkeypatch)
    text = f"{rule('otter')}An otter may swim at night."
    own.put("otter.pdf", text)
    assert own.run().is_completed()
    assert read == ["otter.pdf"]
    assert embedded == [text]
    assert states(database) == ["superseded", "open"]
    assert found(database, "May an otter swim at night?")[0] == "otter.pdf"
    assert "Unchanged since it was read" in table()["zebra.pdf"]["reason"]


def test_another_title_or_date_or_name_reads_and_embeds_nothing(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.run().is_completed()
    embedded, read = newly_embedded(monkeypatch), newly_read(monkeypatch)
    own.entries["otter.pdf"] = {"title": "Another title", "effective_from": "2020-03-24", "effective_to": "2024-12-31"}
    own.entries["deep/gecko.pdf"] = own.entries.pop("gecko.pdf")
    (own.documents / "deep").mkdir()
    (own.documents / "gecko.pdf").rename(own.documents / "deep" / "gecko.pdf")
    own.questions = [each for each in own.questions if each["id"] != "gecko"]
    own.ask("gecko", "deep/gecko.pdf")
    state = own.run()
    assert state.is_completed(), state.message
    assert embedded == read == []
    with connect(database.filing_url) as connection:
        rows = {row.name: row for row in live_documents(connection, 2)}
    assert (rows["otter.pdf"].title, rows["otter.pdf"].effective_from, rows["otter.pdf"].effective_to) == (
        "Another title",
        date(2020, 3, 24),
        date(2024, 12, 31),
    )
    assert "deep/gecko.pdf" in rows and "gecko.pdf" not in rows
    assert table()["gecko.pdf"]["status"] == "withdrawn"
    assert "Nothing changed" in str(own.run().message)


def test_the_same_content_under_two_names_is_read_and_embedded_once(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded, read = newly_embedded(monkeypatch), newly_read(monkeypatch)
    shutil.copy(own.documents / "otter.pdf", own.documents / "copy.PDF")
    own.entries["copy.PDF"] = {"title": "Copy"}
    assert own.run().is_completed()
    assert len(read) == DOCUMENTS and len(embedded) == len(ANIMALS)
    assert query(database, "SELECT count(*) FROM corpus.documents") == [DOCUMENTS]
    assert query(database, "SELECT count(*) FROM corpus.chunks") == [10]
    one = "SELECT count(DISTINCT document_id) FROM corpus.generation_documents WHERE name IN ('otter.pdf', 'copy.PDF')"
    assert query(database, one) == [1]
    assert table()["copy.PDF"] | {"document": "", "title": ""} == table()["otter.pdf"] | {"document": "", "title": ""}


def test_one_base_name_in_two_folders_is_two_documents_and_capitals_count(own: Corpus, database: Database) -> None:
    own.put("2020/rule.PDF", "The pangolin rule of 2020 is about pangolins.")
    own.put("2021/rule.PDF", "The axolotl rule of 2021 is about axolotls.")
    assert own.run().is_completed()
    assert found(database, "Which rule is about pangolins?")[0] == "2020/rule.PDF"
    assert found(database, "Which rule is about axolotls?")[0] == "2021/rule.PDF"


def test_two_runs_at_once_read_and_embed_each_document_once(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.save()
    embedded = newly_embedded(monkeypatch)
    barrier, create_draft = threading.Barrier(2, timeout=60), boxes.create_draft

    def together(*values: Any, **named: Any) -> int:
        barrier.wait()
        return create_draft(*values, **named)

    monkeypatch.setattr(boxes, "create_draft", together)
    ended: list[State[Any]] = []
    threads = [threading.Thread(target=lambda: ended.append(run("own"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(embedded) == sorted(set(embedded)) and len(embedded) == len(ANIMALS)
    assert query(database, "SELECT count(*) FROM corpus.documents WHERE finished_at IS NOT NULL") == [DOCUMENTS]
    assert query(database, "SELECT count(*) FROM corpus.pages") == [10]
    # One of the two is open; the other came before it, or was overtaken by it.
    assert sorted(states(database)) == ["open", "superseded"]
    assert all(state.is_completed() or "newer one opened" in str(state.message) for state in ended)


# --------------------------------------------------------------------------------------------------------------- withdrawn documents
def test_a_withdrawn_document_is_no_longer_found_even_where_the_gate_rejects(own: Corpus, database: Database) -> None:
    assert own.run().is_completed()
    assert found(database, "zebra rule")[0] == "zebra.pdf"
    for animal in ALONE:
        del own.entries[f"{animal}.pdf"]
        (own.documents / f"{animal}.pdf").unlink()
    state = own.run()
    assert state.is_failed() and "rejected" in str(state.message)
    assert "zebra (zebra.pdf), otter (otter.pdf), gecko (gecko.pdf)" in str(state.message)
    assert "remove these questions from golden.jsonl" in str(state.message)
    assert states(database) == ["open", "rejected"]
    assert "zebra.pdf" not in found(database, "zebra rule")
    assert table()["zebra.pdf"]["status"] == "withdrawn"
    # A withdrawn document is nobody's failure once the questions about it are gone too.
    own.questions = [each for each in own.questions if each["id"] not in ALONE]
    state = own.run()
    assert state.is_completed(), state.message
    assert states(database) == ["superseded", "rejected", "open"]


def test_a_withdrawn_document_is_closed_though_the_run_goes_wrong_right_after(own: Corpus, database: Database) -> None:
    assert own.run().is_completed()
    del own.entries["zebra.pdf"]
    (own.documents / "zebra.pdf").unlink()
    del own.questions[0]["pages"]
    assert "golden questions, line 1" in str(own.run().message)
    assert "zebra.pdf" not in found(database, "zebra rule")


def test_a_document_that_is_back_is_found_again_at_no_cost(own: Corpus, database: Database) -> None:
    assert own.run().is_completed()
    entry = own.entries.pop("zebra.pdf")
    (own.documents / "zebra.pdf").rename(own.folder / "away.pdf")
    own.run()
    assert "zebra.pdf" not in found(database, "zebra rule")
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("DELETE FROM corpus.generations WHERE state <> 'superseded' AND id > 1")
        connection.execute("UPDATE corpus.generations SET state = 'open'")
    own.entries = {"zebra.pdf": entry, **own.entries}
    (own.folder / "away.pdf").rename(own.documents / "zebra.pdf")
    assert "Nothing changed" in str(own.run().message)
    assert found(database, "zebra rule")[0] == "zebra.pdf"


def test_where_unlisted_files_count_the_folder_alone_says_what_is_searched(own: Corpus, database: Database) -> None:
    own.unlisted = "index"
    pdf(own.documents / "more" / "pangolin.pdf", "The pangolin rule is about pangolins.")
    assert own.run().is_completed()
    assert found(database, "pangolins")[0] == "more/pangolin.pdf"
    shutil.rmtree(own.documents / "more")
    assert own.run().is_completed()
    assert "more/pangolin.pdf" not in found(database, "pangolins")
    assert table()["more/pangolin.pdf"]["status"] == "withdrawn"


def test_an_entry_that_is_gone_closes_the_document_though_its_file_still_lies_there(
    own: Corpus, database: Database
) -> None:
    own.put("extra.pdf", "The pangolin rule is about pangolins.")
    assert own.run().is_completed()
    del own.entries["extra.pdf"]
    state = own.run()
    assert state.is_failed() and "extra.pdf: unlisted" in str(state.message)
    assert "extra.pdf" not in found(database, "pangolins")
    assert "Closed in index generation 1" in table()["extra.pdf"]["reason"]
    assert states(database) == ["superseded", "open"]


def test_a_file_that_is_gone_is_closed_at_once_though_its_entry_still_stands(own: Corpus, database: Database) -> None:
    """Nothing pins the entry, so the file is the document. The run says that it is missing, and the others go on."""
    own.put("extra.pdf", "The pangolin rule is about pangolins.")
    assert own.run().is_completed()
    (own.documents / "extra.pdf").unlink()
    state = own.run()
    assert state.is_failed() and "extra.pdf: missing" in str(state.message)
    assert "extra.pdf" not in found(database, "pangolins")
    assert "Closed in index generation 1" in table()["extra.pdf"]["reason"]
    assert states(database) == ["superseded", "open"]


# -------------------------------------------------------------------------------------------------------------- what cannot be read
def test_a_folder_with_one_file_of_each_broken_kind_is_told_whole_and_the_rest_opens(
    own: Corpus, database: Database
) -> None:
    own.put("locked.pdf", "Secret.")
    pdf(own.documents / "locked.pdf", "Secret.", password="secret")
    whole = (own.documents / "zebra.pdf").read_bytes()
    files = {
        "empty.pdf": b"",
        "cut.pdf": whole[: len(whole) // 2],
        "page.pdf": b"<html><body>Not found</body></html>",
        "photo.txt": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
        "sheet.xlsx": b"cells",
        "gone.pdf": None,
    }
    for name, content in files.items():
        own.entries[name] = {"title": name}
        if content is not None:
            (own.documents / name).write_bytes(content)
    scan(own.documents / "blank.pdf", "")
    own.entries["blank.pdf"] = {"title": "blank"}
    (own.documents / "stray.pdf").write_bytes(whole)
    state = own.run()
    assert state.is_failed()
    expected = {
        "locked.pdf": "encrypted",
        "empty.pdf": "empty",
        "cut.pdf": "truncated",
        "page.pdf": "mislabelled",
        "photo.txt": "mislabelled",
        "sheet.xlsx": "unsupported",
        "gone.pdf": "missing",
        "blank.pdf": "no_text",
        "stray.pdf": "unlisted",
    }
    rows = table()
    assert {name: rows[name]["status"] for name in expected} == expected
    assert all(len(rows[name]["reason"]) > 20 for name in expected)
    assert all(f"{name}: {status}: " in str(state.message) for name, status in expected.items())
    assert {row["status"] for name, row in rows.items() if name not in expected} == {"ok"}
    assert states(database) == ["open"]
    # Nothing changed, so nothing is done again; but the run still fails, naming all.
    again = own.run()
    assert again.is_failed() and states(database) == ["open"]
    assert all(f"{name}: {status}: " in str(again.message) for name, status in expected.items())
    assert not any((settings().store.home / "extracts").iterdir())


def test_an_address_that_does_not_answer_is_that_document_s_status(
    environment: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILEWRIGHT_CORPUS_DOWNLOAD", "true")
    settings.cache_clear()
    monkeypatch.setattr(
        flows.ingest.boxes, "extract_document", boxes.extract_document.with_options(retry_delay_seconds=0)
    )
    add(environment, "far.pdf", "0" * 64)
    with (environment / "sample" / "corpus.toml").open("a") as file:
        file.write('url = "https://127.0.0.1:9/far.pdf"\n')
    state = run()
    assert state.is_failed() and "far.pdf: missing" in str(state.message)
    assert states(database) == ["open"]
    # The file may be there the next time, so the same index is not taken for up to date.
    assert run().is_failed()
    assert states(database) == ["superseded", "open"]


@pytest.mark.parametrize("damage", ["scan without a word", "cut off"])
def test_a_document_that_became_unreadable_never_leaves_the_index_in_silence(
    own: Corpus, database: Database, damage: str
) -> None:
    assert own.run().is_completed()
    path = own.documents / "otter.pdf"
    if damage == "cut off":
        path.write_bytes(path.read_bytes()[:300])
    else:
        scan(path, "")
    own.questions = [each for each in own.questions if each["id"] != "otter"]  # no question would notice
    state = own.run()
    assert state.is_failed() and "no document lost" in str(state.message)
    assert "otter.pdf: " in str(state.message) and "remove its entry" in str(state.message)
    assert "The version of generation 1 was readable" in table()["otter.pdf"]["reason"]
    assert states(database) == ["open", "rejected"]
    assert found(database, "otter rule")[0] == "otter.pdf"


@pytest.mark.skipif(not recogniser(), reason="tesseract is not installed, so no scan can be read")
def test_a_text_that_was_replaced_by_its_scan_is_recognised_and_goes_on_answering(
    own: Corpus, database: Database
) -> None:
    assert own.run().is_completed()
    scan(own.documents / "otter.pdf", rule("otter"))
    state = own.run()
    assert state.is_completed(), state.message
    assert "character recognition" in table()["otter.pdf"]["reason"]
    assert found(database, "otter rule")[0] == "otter.pdf"
    assert query(database, "SELECT count(*) FROM corpus.pages WHERE origin = 'ocr' AND confidence > 0.5") == [1]


def test_a_version_with_hardly_any_text_left_is_rejected(own: Corpus, database: Database) -> None:
    own.put("long.pdf", *["A page of a regulation with many words in it. " * 8] * 3)
    assert own.run().is_completed()
    own.put("long.pdf", "Stamp.")
    state = own.run()
    assert state.is_failed() and "no document emptied" in str(state.message) and "long.pdf" in str(state.message)
    assert states(database) == ["open", "rejected"]


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_changes_or_goes_while_it_is_read_is_never_stored_as_what_it_was(
    gone: bool, own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, extract = own.documents / "otter.pdf", boxes.extract
    before = path.read_bytes()

    def meanwhile(file: Path, name: str, *rest: Any, **named: Any) -> Any:
        if name != "otter.pdf":
            return extract(file, name, *rest, **named)
        pdf(path, "Another text altogether.")
        read = extract(file, name, *rest, **named)
        if gone:
            path.unlink()
        return read

    monkeypatch.setattr(boxes, "extract", meanwhile)
    state = own.run()
    assert state.is_failed() and "while it was being read" in str(state.message)
    assert query(database, "SELECT text FROM corpus.pages WHERE text LIKE 'Another%'") == []
    monkeypatch.setattr(boxes, "extract", extract)
    path.write_bytes(before)
    state = own.run()
    assert state.is_completed(), state.message
    assert "otter.pdf" in found(database, "From what day is compliance with the otter rule required?")


def test_a_fault_of_the_reader_stops_no_other_document(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract, dehyphenated = boxes.extract, boxes.dehyphenated

    def failing_extract(path: Path, name: str, *rest: Any, **named: Any) -> Any:
        if name == "a.pdf":
            raise TypeError("a fault")
        return extract(path, name, *rest, **named)

    def failing_dehyphenated(raw: Any) -> Any:
        yield from dehyphenated(raw)
        if raw.name == "b.pdf":
            raise IndexError("another fault")

    monkeypatch.setattr(boxes, "extract", failing_extract)
    monkeypatch.setattr(boxes, "dehyphenated", failing_dehyphenated)
    own.put("a.pdf", "Text of a.")
    own.put("b.pdf", "Text of b.")
    state = own.run()
    assert state.is_failed()
    assert "a.pdf: broken" in str(state.message) and "TypeError" in str(state.message)
    assert "b.pdf: broken" in str(state.message) and "IndexError" in str(state.message)
    assert states(database) == ["open"]
    assert query(database, "SELECT count(*) FROM corpus.documents") == [DOCUMENTS]


def full_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tasks.documents.spool.os.fsync", fsync)


def full_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    def store_pages(*values: Any) -> int:
        raise psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr(boxes, "store_pages", store_pages)


@pytest.mark.parametrize("fill", [full_spool, full_postgres])
def test_a_full_disk_is_told_and_the_next_run_goes_on(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch, fill: Callable[[pytest.MonkeyPatch], None]
) -> None:
    assert own.run().is_completed()
    own.put("new.pdf", "The pangolin rule is about pangolins.")
    with monkeypatch.context() as full:
        fill(full)
        state = own.run()
    assert state.is_failed() and "The disk is full" in str(state.message) and "Make room" in str(state.message)
    assert found(database, "otter rule")[0] == "otter.pdf"
    assert query(database, "SELECT count(*) FROM corpus.pages") == [10]
    assert own.run().is_completed()
    assert found(database, "pangolins")[0] == "new.pdf"


# ------------------------------------------------------------------------------------------------------------------------ killed runs
LONG = 25  # pages: three batches


def long_document(own: Corpus) -> None:
    letters = str.maketrans("0123456789", "ghijklmnop")
    words = [hashlib.sha256(bytes([n])).hexdigest().translate(letters) for n in range(LONG)]
    own.put("long.pdf", *(f"The pangolin handbook has the word {w[:9]} and also {w[9:20]}." for w in words))
    own.save()


# Ends itself in the second batch of the long document, the only one that has ten of anything in a batch.
KILLED = """
    import os, signal
    from flows.ingest import ingest
    from tasks import ingest as boxes
    batches = 0
    kept, ask = boxes.{what}, boxes.chunks_to_embed
    def killed(*values):
        global batches
        batches += len(values[{batch}]) == 10
        if batches > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return kept(*values)
    boxes.{what} = killed
    boxes.chunks_to_embed = lambda connection, chunk_set, document: ask(connection, chunk_set, document, 10)
    boxes.PAGES_AT_ONCE = 10
    ingest("own", return_state=True)
"""


def test_a_run_that_was_killed_while_it_stored_pages_goes_on_after_the_last_batch(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_document(own)
    ended = child(KILLED.format(what="store_pages", batch=2))
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    unfinished = "SELECT count(p.*) FROM corpus.documents d JOIN corpus.pages p ON p.document_id = d.id WHERE d.finished_at IS NULL"
    assert query(database, unfinished) == [10]
    stored: list[int] = []
    store_pages = boxes.store_pages

    def counted(connection: Any, document: int, pages: Any) -> int:
        stored.extend(page.number for page in pages if page.number > 10)
        return store_pages(connection, document, pages)

    monkeypatch.setattr(boxes, "store_pages", counted)
    monkeypatch.setattr(boxes, "LONG_PAGES", 20)
    state = own.run()
    assert state.is_completed(), state.message
    assert stored == list(range(11, LONG + 1))
    pages = (
        "SELECT count(*) FROM corpus.pages p JOIN corpus.documents d ON d.id = p.document_id WHERE d.page_count = 25"
    )
    assert query(database, pages) == [LONG]
    assert found(database, "the pangolin handbook")[0] == "long.pdf"
    assert not any(path.is_dir() for path in (settings().store.home / "extracts").iterdir())
    assert "progress-storing-long-pdf" in artifacts()


def test_a_run_that_was_killed_while_it_embedded_keeps_the_vectors_that_it_has(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_document(own)
    ended = child(KILLED.format(what="store_vectors", batch=2))
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    with_vector = "SELECT count(*) FROM corpus.chunks WHERE embedding IS NOT NULL"
    (kept,) = query(database, with_vector)
    assert 10 <= kept < LONG
    embedded = newly_embedded(monkeypatch)
    assert own.run().is_completed()
    (whole,) = query(database, "SELECT count(*) FROM corpus.chunks")
    assert len(embedded) == whole - kept
    assert query(database, with_vector) == [whole]


def test_a_spool_that_a_run_left_is_removed_after_a_day_and_not_before(own: Corpus, database: Database) -> None:
    extracts = settings().store.home / "extracts"
    for name in ("old", "new"):
        (extracts / name).mkdir(parents=True)
        (extracts / name / "batch").write_text("pages")
    yesterday = time.time() - 90_000
    for path in (extracts / "old" / "batch", extracts / "old"):
        os.utime(path, (yesterday, yesterday))
    assert own.run().is_completed()
    assert [path.name for path in extracts.iterdir()] == ["new"]


# ---------------------------------------------------------------------------------------------------------------------------- the gate
def without_answers(environment: Path) -> None:
    """Replace every document of the sample by one that answers nothing."""
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


def test_a_draft_that_answers_less_than_the_open_index_is_rejected_though_it_meets_the_thresholds(
    own: Corpus, database: Database
) -> None:
    assert own.run().is_completed()
    own.put("otter.pdf", rule("otter").replace("March 3, 2021", "a day to be announced"))
    state = own.run()
    assert state.is_failed()
    assert "no question lost: 9, wanted at least 10" in str(state.message)
    assert "the open index answers and the draft does not: otter" in str(state.message)
    assert "recall at 4" not in str(state.message)
    assert states(database) == ["open", "rejected"]
    row = {each["id"]: each for each in json.loads(artifacts()["golden-questions-own"].data)}["otter"]
    assert (row["rank"], row["open rank"]) == ("-", 1)
    assert "Compared with generation 1, asked the same questions now: 10 answered" in verdict()
    # A question that the law no longer answers is changed by a person; then the same draft opens.
    own.questions = [each for each in own.questions if each["id"] != "otter"]
    assert own.run().is_completed()


def test_a_corpus_without_golden_questions_serves_searches_and_no_filing(own: Corpus, database: Database) -> None:
    questions, own.questions = own.questions, []
    state = own.run()
    assert state.is_completed() and "unevaluated" in str(state.message)
    assert states(database) == ["unevaluated"] and "nothing may be filed" in verdict()
    assert found(database, "otter rule")[0] == "otter.pdf"
    with pytest.raises(PermanentError, match="No index of corpus own is open"):
        open_index.fn("own")
    assert "for search only" in str(own.run().message)
    # Questions that a program wrote count for nothing until a person accepts them.
    own.questions = [{**each, "status": "draft"} for each in questions]
    assert "Nothing changed" in str(own.run().message)
    # A lost document keeps an unevaluated index closed too.
    (own.documents / "otter.pdf").write_bytes(b"")
    assert "no document lost" in str(own.run().message)
    assert states(database) == ["unevaluated", "rejected"]
    own.put("otter.pdf", rule("otter"))
    own.questions = questions
    state = own.run()
    assert state.is_completed() and "is open" in str(state.message)
    assert states(database) == ["superseded", "rejected", "open"]
    assert open_index.fn("own") == 3


def test_an_evaluated_index_is_never_replaced_by_one_that_cannot_be_evaluated(own: Corpus, database: Database) -> None:
    assert own.run().is_completed()
    own.questions = []
    state = own.run()
    assert state.is_failed() and "golden.jsonl has no accepted question" in str(state.message)
    assert "Generation 1 goes on serving" in str(state.message)
    assert states(database) == ["open", "rejected"]


@pytest.mark.parametrize("same", [True, False])
def test_an_open_index_whose_model_is_gone_counts_with_its_stored_score(
    own: Corpus, database: Database, same: bool
) -> None:
    assert own.run().is_completed()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("UPDATE corpus.generations SET embedding_revision = 'gone'")
        connection.execute("UPDATE corpus.chunk_sets SET embedding_revision = 'gone'")
    own.put("otter.pdf", rule("otter").replace("March 3, 2021", "a day to be announced"))
    if not same:
        own.questions[0]["question"] += " Please."
    state = own.run()
    if same:
        assert state.is_failed() and "no question lost" in str(state.message)
        assert "Compared with the stored score of generation 1" in verdict()
    else:
        assert state.is_completed(), state.message
        assert "Not compared: generation 1 cannot be searched" in verdict()


def test_a_malformed_golden_file_is_told_before_anything_is_read(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = newly_read(monkeypatch)
    del own.questions[3]["pages"]
    state = own.run()
    assert state.is_failed() and "golden questions, line 4" in str(state.message)
    assert read == [] and states(database) == []


def test_what_nothing_serves_any_more_is_pruned_with_its_keyword_files(own: Corpus, database: Database) -> None:
    assert own.run().is_completed()
    own.put("otter.pdf", f"{rule('otter')}More.")
    assert own.run().is_completed()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("UPDATE corpus.generations SET decided_at = now() - interval '2 days' WHERE id = 1")
    folder = settings().store.home / "bm25"
    assert {path.name.split("-")[0] for path in folder.iterdir()} == {"1", "2"}
    own.put("otter.pdf", f"{rule('otter')}Still more.")
    assert own.run().is_completed()
    assert {path.name.split("-")[0] for path in folder.iterdir()} == {"2", "3"}
    assert query(database, "SELECT count(*) FROM corpus.chunks") == [11]  # two versions of one page, one of nine
    with connect(database.filing_url) as connection:
        assert generation(connection, 1).state == "superseded"


def test_another_splitter_or_precision_is_another_set_and_keeps_the_vectors_of_equal_texts(
    own: Corpus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.run().is_completed()
    embedded = newly_embedded(monkeypatch)
    monkeypatch.setenv("FILEWRIGHT_VECTOR_PRECISION", "half")
    settings.cache_clear()
    assert own.run().is_completed()
    assert embedded == []
    assert query(database, "SELECT precision FROM corpus.chunk_sets ORDER BY id") == ["single", "half"]
    assert found(database, "otter rule")[0] == "otter.pdf"


def test_an_unknown_corpus_is_refused_in_words(environment: Path) -> None:
    state = run("no-such-corpus")
    assert state.is_failed() and "There is no corpus" in str(state.message)
