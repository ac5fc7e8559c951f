"""The process in which files are parsed, because a parser may hang, crash or eat memory on a hostile file.

It decides how long and with how much memory a page may be read, and what the end of such a process means. It never decides
about text.

Rules
- One request at a time, as a line of JSON on standard input; the answers are lines of JSON, one a page, so that all pages
  before the one that ended the process are kept.
- The process ends itself: an alarm without a handler stops it also inside foreign code, and its address space is limited.
- Ended by its own alarm or by a fault: that is the page's doing, and is told as `Ended`. Ended from outside (killed,
  cancelled): that is a TemporaryError, never a page's status.
- At most WORKERS processes; one is held for one batch, so that a large file does not stop the others. Idle ones wait for the next
  file, and end with the process that started them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tasks.domain.errors import TemporaryError

WORKERS = 2
"""Two pages are parsed at once; recognition takes a core each."""

TEXT_SECONDS, RECOGNITION_SECONDS, FILE_SECONDS = 60, 240, 600
"""Of one page with a text layer, of one page to recognise (two readings, orientation, drawing), of a file that is parsed as
a whole."""

MOST_MEMORY = {"pdf": 4 * 2**30, "elements": 8 * 2**30}
"""Address space of a worker in bytes, more than it ever holds: spaCy, numba and their threads reserve some gigabytes unused."""

_FAULTS = {
    signal.SIGSEGV: "it crashed the reader",
    signal.SIGBUS: "it crashed the reader",
    signal.SIGABRT: "it crashed the reader",
    signal.SIGILL: "it crashed the reader",
    signal.SIGFPE: "it crashed the reader",
    signal.SIGTRAP: "it crashed the reader",
    signal.SIGALRM: "it took too long",
}

Answer = dict[str, Any]


class Ended(Exception):
    """The worker ended itself on what it was reading; the message is a clause for a person."""


class _Worker:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tasks.documents.worker", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[2],
            # A signal from the terminal is for the run; the worker ends with its input.
            start_new_session=True,
        )

    def ask(self, request: Answer) -> Iterator[Answer]:
        """Answers up to and without the closing one."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        for line in stdout:
            if not line.endswith(b"\n"):
                break
            answer = json.loads(line)
            if answer.get("done"):
                return
            yield answer
        code = -self.process.wait()
        try:
            raise Ended(_FAULTS[signal.Signals(code)])
        except (KeyError, ValueError):
            raise TemporaryError(f"The process that reads documents was ended from outside (code {-code}).") from None

    def close(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()


_SLOTS = threading.BoundedSemaphore(WORKERS)
_IDLE: dict[str, list[_Worker]] = {"pdf": [], "elements": []}
_OWNER = os.getpid()
_LOCK = threading.Lock()


def ask(kind: str, request: Answer) -> Iterator[Answer]:
    """The answers of a worker of `kind` (pdf or elements) to one request, as they come.

    Raises Ended when the worker ended itself on it, TemporaryError when something else ended it. A worker whose answers were
    not all taken is ended.
    """
    with _SLOTS:
        answered = False
        worker = _take(kind)
        try:
            if worker is not None:
                try:
                    for answer in worker.ask(request):
                        answered = True
                        yield answer
                except TemporaryError:
                    # It may have been killed while it waited; that is not this request's matter.
                    if answered:
                        raise
                    worker.close()
                    worker = None
            if worker is None:
                worker = _Worker(kind)
                yield from worker.ask(request)
        except BaseException:
            if worker is not None:
                worker.close()
            raise
        with _LOCK:
            _IDLE[kind].append(worker)


def _take(kind: str) -> _Worker | None:
    """A worker that waits, if there is one; too many of another kind are ended."""
    global _OWNER
    with _LOCK:
        if os.getpid() != _OWNER:
            # After a fork the pipes are the parent's.
            _OWNER = os.getpid()
            for idle in _IDLE.values():
                idle.clear()
        while _IDLE[kind]:
            worker = _IDLE[kind].pop()
            if worker.process.poll() is None:
                return worker
            worker.close()
        others = [worker for name, idle in _IDLE.items() if name != kind for worker in idle]
        if sum(map(len, _IDLE.values())) >= WORKERS:
            for worker in others:
                worker.close()
                _IDLE[worker.kind].remove(worker)
    return None


@atexit.register
def close_idle() -> None:
    """End the processes that wait; those at work end with their requests."""
    with _LOCK:
        for idle in _IDLE.values():
            while idle and os.getpid() == _OWNER:
                idle.pop().close()


def main(kind: str) -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY[kind], MOST_MEMORY[kind]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Whatever a library prints must not stand between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        for answer in _pdf(request) if kind == "pdf" else _elements(request):
            _write(answers, answer)
        signal.alarm(0)
        _write(answers, {"done": True})


def _write(answers: IO[bytes], answer: Answer) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _pdf(request: Answer) -> Iterator[Answer]:
    """First how many pages the file has, or why it is refused; then the records of pages `first` to `last`, when they are
    asked for."""
    from tasks.documents.damage import Damage, damage
    from tasks.documents.pdf import PdfFile, UnreadablePdf, as_record, lost_page, recognised

    signal.alarm(request.get("seconds", TEXT_SECONDS))
    try:
        with PdfFile(Path(request["path"])) as pdf:
            yield {"pages": pdf.page_count}
            if request.get("damage"):
                signal.alarm(request.get("seconds", FILE_SECONDS))
                try:
                    found = damage(Path(request["path"]), pdf.page_count)
                except Exception:
                    # What a file does to the search for damage is no reason not to read it: nothing is known then.
                    found = Damage()
                yield {"lost": found.lost, "touched": found.touched}
            for number in range(request["first"], min(request["last"], pdf.page_count) + 1):
                signal.alarm(request.get("seconds", TEXT_SECONDS))
                try:
                    page = next(pdf.pages(number, number))
                    if page.origin == "none" and not page.problem:
                        signal.alarm(request.get("recognition_seconds", RECOGNITION_SECONDS))
                        page = recognised(pdf, page)
                except MemoryError:
                    page = lost_page(number, "it needs more memory than a page may")
                except Exception as error:
                    # One page's surprise must not cost the others.
                    page = lost_page(number, f"the reader failed on it ({type(error).__name__})")
                yield as_record(page)
    except UnreadablePdf as error:
        yield {"refused": error.kind, "reason": f"The PDF cannot be read: {error}."}
    except MemoryError:
        yield {"refused": "broken", "reason": "The PDF cannot be read: it needs more memory than a file may."}
    except Exception as error:
        yield {"refused": "broken", "reason": f"The PDF cannot be read: its reader failed ({type(error).__name__})."}


def _elements(request: Answer) -> Iterator[Answer]:
    """The elements of a file that is no PDF and at last what they leave out, or why it is refused."""
    from tasks.documents.elements import elements_from_file, words_left_out

    signal.alarm(request.get("seconds", FILE_SECONDS))
    path, suffix = Path(request["path"]), request["suffix"]
    texts: list[str] = []
    try:
        for element in elements_from_file(path, suffix=suffix):
            texts.append(element.text)
            yield {"category": element.category, "text": element.text, "page": element.metadata.page_number or 1}
        yield {"left_out": words_left_out(path, suffix, texts)}
    except ImportError as error:
        missing = f"The reader for {suffix} files is not installed ({error.name} is missing)."
        yield {"refused": "unsupported", "reason": missing}
    except Exception as error:
        # Other people's parsers raise whatever a damaged file leads them to; a bad file must stop no other, and the type is told.
        reason = f"The file is damaged or is not what its name says ({type(error).__name__})."
        yield {"refused": "broken", "reason": reason}


if __name__ == "__main__":
    main(sys.argv[1])
