"""Parsers run in a process that may end: what its end means."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.documents import worker
from tasks.documents.read import extract
from tasks.domain.errors import TemporaryError
from tests.documents.conftest import Bench


def children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def ask_and_send(path: Path, number: signal.Signals) -> list[worker.Answer]:
    """Answers for a long file whose worker gets a signal after the first page."""
    worker.close_idle()
    before = children()
    answers = worker.ask("pdf", {"path": str(path), "first": 1, "last": 400})
    taken = [next(answers), next(answers)]
    (pid,) = children() - before
    os.kill(pid, number)
    return taken + list(answers)


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGSEGV, "crashed the reader"), (signal.SIGABRT, "crashed the reader"), (signal.SIGALRM, "took too long")],
)
def test_a_worker_that_ends_itself_did_so_on_the_page(bench: Bench, number: signal.Signals, words: str) -> None:
    with pytest.raises(worker.Ended, match=words):
        ask_and_send(bench.long("a.pdf", 400), number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_was_ended_from_outside_is_no_fault_of_the_page(bench: Bench, number: signal.Signals) -> None:
    with pytest.raises(TemporaryError, match="from outside"):
        ask_and_send(bench.long("a.pdf", 400), number)


def test_a_worker_is_used_again_and_one_that_died_idle_is_replaced(bench: Bench) -> None:
    worker.close_idle()
    path = bench.pdf("a.pdf", "words")
    before = children()
    extract(path, "a.pdf", bench.folder / "1")
    (first,) = children() - before
    extract(path, "a.pdf", bench.folder / "2")
    assert children() - before == {first}
    os.kill(first, signal.SIGKILL)
    extract(path, "a.pdf", bench.folder / "3")
    assert first not in children() - before and len(children() - before) == 1


def test_no_process_is_left_when_answers_are_not_taken(bench: Bench) -> None:
    worker.close_idle()
    before = children()
    answers = worker.ask("pdf", {"path": str(bench.long("a.pdf", 100)), "first": 1, "last": 100})
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_long_file_does_not_stop_the_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one worker for all: the short file is done while the long one still has batches to read."""
    monkeypatch.setattr(worker, "_SLOTS", threading.BoundedSemaphore(1))
    long, short = bench.long("long.pdf", 160), bench.pdf("short.pdf", "words")
    finished: dict[str, float] = {}

    def read(path: Path) -> None:
        extract(path, path.name, bench.folder / path.stem)
        finished[path.name] = time.monotonic()

    with ThreadPoolExecutor(2) as pool:
        started = pool.submit(read, long)
        time.sleep(0.5)
        pool.submit(read, short).result()
        started.result()
    assert finished["short.pdf"] < finished["long.pdf"]
