"""`python3 -m infra suggest-golden --corpus NAME`: drafts of golden questions, for a person to accept or drop.

It reads the corpus' files as an ingest would, but with no model, no network and no database, and writes `golden.jsonl`. Drafts count for
nothing (`"status": "draft"`): not in the gate, not in a measurement. How they are worded is decided in tasks/domain/drafts.py.

Rules
- Lines that are there are never changed, except that an accepted draft loses its status and a dropped one goes. The file is written anew
  beside its place and renamed, under a lock, so that it is whole at every moment and two commands at once lose nothing.
- A draft is accepted only if each page that it names still has a passage that all of its patterns match. Of several ids all are done or
  none.
- Nothing is suggested twice: not what golden.jsonl asks already, and not what was dropped (`golden-dropped.jsonl` remembers it; whoever
  wants to see those again deletes that file).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment

if TYPE_CHECKING:
    from tasks.domain.drafts import Draft
    from tasks.domain.passages import GoldenQuestion, Page

DONE, COULD_NOT, BAD_REQUEST = 0, 1, 2
GOLDEN, DROPPED = "golden.jsonl", "golden-dropped.jsonl"


class _Refused(Exception):
    """A bad request; the message is for a person."""


def run(options: argparse.Namespace, environment: Environment | None) -> int:
    """Suggest, list, accept or drop; 0 done (also where nothing was found to suggest), 1 it could not be done, 2 a bad request."""
    from tasks.domain.errors import FilewrightError
    from tasks.settings import settings

    try:
        folder = _corpus(settings().corpus.corpus_folder, options.corpus)
        if options.list and (options.accept or options.drop):
            raise _Refused("--list goes with neither --accept nor --drop.")
        if options.list:
            told = _list(folder)
        elif options.accept or options.drop:
            told = _decide(folder, options.accept, options.drop)
        else:
            told = _suggest(folder, options.count)
    except _Refused as error:
        print(error, file=sys.stderr)
        return BAD_REQUEST
    except (FilewrightError, OSError, UnicodeError) as error:
        print(error, file=sys.stderr)
        return COULD_NOT
    print(json.dumps(told.value, ensure_ascii=False) if options.json else "\n".join(told.lines))
    return DONE


@dataclass(frozen=True)
class _Told:
    """What came of it, for a program and for a person."""

    value: dict[str, Any]
    lines: list[str]


def _corpus(root: Path, name: str) -> Path:
    if not name or name in (".", "..") or "/" in name or "\0" in name or not (root / name).is_dir():
        known = (
            sorted(path.name for path in root.iterdir() if (path / "corpus.toml").is_file()) if root.is_dir() else []
        )
        raise _Refused(f"There is no corpus {name!r} in {root}. There: {', '.join(known) or 'none'}.")
    return root / name


def _suggest(folder: Path, count: int) -> _Told:
    from tasks.domain.drafts import draft_questions
    from tasks.domain.evaluation import parse_golden
    from tasks.settings import settings

    retrieval = settings().retrieval
    # Before the reading, which may take long, for a mistake in the file; and again under the lock.
    parse_golden(_text(folder / GOLDEN))
    pages, unread = _read(folder)
    with _locked(folder):
        golden, dropped = _text(folder / GOLDEN), _text(folder / DROPPED)
        existing = [*parse_golden(golden), *parse_golden(dropped)]
        drafts = draft_questions(
            pages,
            existing,
            count=count,
            prefix=folder.name,
            first=_next_number(folder.name, existing),
            size=retrieval.chunk_size,
            overlap=retrieval.chunk_overlap,
        )
        if drafts:
            lines = "".join(json.dumps(_line(draft.question), ensure_ascii=False) + "\n" for draft in drafts)
            _replace(folder / GOLDEN, golden + ("\n" if golden and not golden.endswith("\n") else "") + lines)
    value = {
        "corpus": folder.name,
        "added": [{**_line(draft.question), "statement": draft.statement} for draft in drafts],
        "not_read": [{"name": name, "reason": reason} for name, reason in unread],
    }
    return _Told(value, _words(folder, drafts, unread))


def _words(folder: Path, drafts: Sequence[Draft], unread: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"not read: {name}: {reason}" for name, reason in unread]
    for draft in drafts:
        lines += [*_shown(draft.question), f"    text     {draft.statement}"]
    if not drafts:
        return [
            *lines,
            "The text gives no further question that rules can make: they look for a whole sentence with a date, an identifier, a cite, an "
            "amount of money or a percentage. Write your own; see corpus/README.md.",
        ]
    return [
        *lines,
        f"{len(drafts)} draft{'s' if len(drafts) != 1 else ''} in {folder / GOLDEN}. They were made by rules and count for nothing yet: "
        "read each, put it into your own words there, and then",
        f"  python3 -m infra suggest-golden --corpus {folder.name} --accept {drafts[0].question.id} …",
        f"  python3 -m infra suggest-golden --corpus {folder.name} --drop {drafts[-1].question.id} …",
    ]


def _list(folder: Path) -> _Told:
    from tasks.domain.evaluation import parse_golden

    drafts = [question for question in parse_golden(_text(folder / GOLDEN)) if question.draft]
    lines = [line for question in drafts for line in _shown(question)]
    waiting = f"{len(drafts)} draft{'s wait' if len(drafts) != 1 else ' waits'} in {folder / GOLDEN}."
    return _Told({"corpus": folder.name, "drafts": [_line(question) for question in drafts]}, [*lines, waiting])


def _decide(folder: Path, accept: Sequence[str], drop: Sequence[str]) -> _Told:
    """Accept and drop drafts by id. Raises _Refused for ids that are no drafts, PermanentError where a page no longer has the answer."""
    from tasks.domain.evaluation import parse_golden

    accept, drop = list(dict.fromkeys(accept)), list(dict.fromkeys(drop))
    both = sorted(set(accept) & set(drop))
    if both:
        raise _Refused(f"To be accepted and dropped at once: {', '.join(both)}. Decide for one.")
    with _locked(folder):
        golden = _text(folder / GOLDEN)
        by_id = {question.id: question for question in parse_golden(golden)}
        for identity in [*accept, *drop]:
            if identity not in by_id:
                raise _Refused(
                    f"There is no question {identity} in {folder / GOLDEN}; --list shows the drafts. Nothing was changed."
                )
            if not by_id[identity].draft:
                raise _Refused(
                    f"{identity} is no draft: it counts already. Edit {folder / GOLDEN} to change it. Nothing was changed."
                )
        _require_answers(folder, [by_id[identity] for identity in accept])
        kept, gone = [], []
        for line in golden.split("\n"):
            bare = line.removeprefix("\ufeff").strip()
            data = json.loads(bare) if bare else {}
            if data.get("id") in drop:
                gone.append(bare)
            elif data.get("id") in accept:
                kept.append(
                    json.dumps({key: value for key, value in data.items() if key != "status"}, ensure_ascii=False)
                )
            else:
                kept.append(line)
        if gone:
            # Remembered before it goes: killed between the two, a draft is in both files, which only keeps it from being suggested.
            before = _text(folder / DROPPED)
            earlier = {question.id for question in parse_golden(before)}
            fresh = [line for line in gone if json.loads(line)["id"] not in earlier]
            _replace(folder / DROPPED, before + "".join(f"{line}\n" for line in fresh))
        _replace(folder / GOLDEN, "\n".join(kept))
    left = sum(question.draft for question in by_id.values()) - len(accept) - len(drop)
    lines = [f"accepted: {identity}" for identity in accept] + [f"dropped: {identity}" for identity in drop]
    lines.append(f"{left} draft{'s' if left != 1 else ''} left.")
    if accept:
        lines.append(
            f"Ingest again to have the index evaluated: prefect deployment run ingest/ingest --param corpus={folder.name} --watch"
        )
    return _Told({"corpus": folder.name, "accepted": accept, "dropped": drop, "drafts_left": left}, lines)


def _require_answers(folder: Path, questions: Sequence[GoldenQuestion]) -> None:
    """Raise PermanentError with every question whose patterns do not match a passage of each page that it names."""
    from tasks.domain.drafts import unmatched_pages
    from tasks.domain.errors import PermanentError
    from tasks.settings import settings

    retrieval = settings().retrieval
    names = {question.document for question in questions if question.document is not None}
    pages, unread = _read(folder, names) if names else ({}, [])
    reasons = dict(unread)
    problems = []
    for question in questions:
        if question.document is None:
            continue
        if question.document not in pages:
            why = reasons.get(question.document, "the corpus has no such document")
            problems.append(f"{question.id}: {question.document} cannot be read: {why}")
            continue
        missed = unmatched_pages(
            question, pages[question.document], size=retrieval.chunk_size, overlap=retrieval.chunk_overlap
        )
        if missed:
            numbers = ", ".join(str(number) for number in missed)
            problems.append(
                f"{question.id}: no passage of page {numbers} of {question.document} matches all patterns: correct pages or answer_patterns"
            )
    if problems:
        raise PermanentError("Nothing was changed. " + "; ".join(problems) + ".")


def _read(folder: Path, names: set[str] | None = None) -> tuple[dict[str, Sequence[Page]], list[tuple[str, str]]]:
    """The pages of the corpus' documents (of those in `names` only), and which could not be read and why.

    Without `names` a content that stands under several names is read once: the same answer in two documents is no good question.
    """
    from tasks.documents import catalogue, locate, read_pages
    from tasks.domain.errors import FilewrightError
    from tasks.settings import settings

    group = settings()
    found = catalogue(folder)
    pages: dict[str, Sequence[Page]] = {}
    unread = [(row.name, f"{row.status}: {row.reason}") for row in found.refused if names is None or row.name in names]
    seen: set[str | None] = set()
    for number, entry in enumerate(found.entries, start=1):
        if (names is not None and entry.name not in names) or (names is None and entry.sha256 in seen):
            continue
        seen.add(entry.sha256)
        print(f"reading {entry.name} ({number} of {len(found.entries)})", file=sys.stderr, flush=True)
        try:
            path = locate(
                entry,
                folder=folder,
                mirror=group.corpus.corpus_mirror,
                cache=group.store.home / "downloads",
                download=False,
            )
        except (FilewrightError, OSError) as error:
            unread.append((entry.name, str(error)))
            continue
        result = read_pages(path, entry.name)
        if result.status == "ok":
            pages[entry.name] = result.pages
        else:
            unread.append((entry.name, f"{result.status}: {result.reason}"))
    return pages, unread


def _next_number(prefix: str, existing: Sequence[GoldenQuestion]) -> int:
    pattern = re.compile(re.escape(prefix) + r"-draft-(\d{1,9})", re.ASCII)
    numbers = [int(match[1]) for question in existing if (match := pattern.fullmatch(question.id))]
    return max(numbers, default=0) + 1


def _line(question: GoldenQuestion) -> dict[str, Any]:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "document": question.document,
        "pages": list(question.pages),
        "answer_patterns": list(question.patterns),
        "answerable": question.answerable,
        **({"status": "draft"} if question.draft else {}),
    }


def _shown(question: GoldenQuestion) -> list[str]:
    pages = ", ".join(str(page) for page in question.pages)
    place = f"{question.document}, page {pages}" if question.document else "nowhere: unanswerable"
    return [
        f"{question.id}  [{question.kind}]  {question.question}",
        f"    answer   {place}; {'  and  '.join(question.patterns)}",
    ]


def _text(path: Path) -> str:
    """The file's text with its own line ends; empty where there is no file."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UnicodeError(
            f"{path} is not written in UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8."
        ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else writes golden questions of this corpus meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str) -> None:
    """Write `path` anew, whole or not at all; a link stays one, and the file keeps its mode."""
    target = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    made = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        made.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~umask)
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
