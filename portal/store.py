"""Drafts and filed reports in Postgres.

It decides what is saved, what is one draft and what is filed, each in one transaction. It never decides whether a
report is valid: the submit is given the check to make, and makes it on the row that it has locked.

Rules
    a draft belongs to the session that made it and expires `draft_hours` after its last save
    a filed draft never changes again; a draft is filed at most once and a report ID is filed at most once: two unique
    constraints decide that, so any number of simultaneous submits give one row
    a connection per transaction: a database that comes back is used by the very next request
    whatever keeps the database from answering (refused, gone, hanging, without its tables) is `Unavailable`
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from portal.questions import Question
from portal.validation import Period, Problem

Connection = psycopg.AsyncConnection[DictRow]
T = TypeVar("T")

MAX_CONNECTIONS = 10  # of one portal process; further requests wait for their turn
PAGE_SIZE = 50  # reports on one page of the list

# Besides lost connections: a schema that is not there yet, a standby that takes no writes, missing rights.
_UNAVAILABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    TimeoutError,
    OSError,
)


class Unavailable(Exception):
    """The database does not answer. What was asked has not been done, or (a lost commit) can safely be asked again."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as saved: `period` holds the fields of step 1, `answers` those of step 2 once saved."""

    id: UUID
    period: Mapping[str, str]
    answers: Mapping[str, str] | None
    expired: bool
    submission_id: int | None  # of the report that it was filed as


@dataclass(frozen=True, slots=True)
class Submission:
    """A filed report. `questions` are (key, wording) as they were asked; `submitted_at` is aware."""

    id: int
    report_id: str
    quarter: str
    department: str
    answers: Mapping[str, str]
    questions: Sequence[tuple[str, str]]
    reference: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class Ready:
    """What the check of a submit returns when the draft may be filed."""

    period: Period
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filed:
    """The draft is filed, by this submit or by an earlier one."""

    submission: Submission


@dataclass(frozen=True, slots=True)
class Taken:
    """Another draft was filed under this report ID before."""

    first: Submission


@dataclass(frozen=True, slots=True)
class Refused:
    """The check did not let the draft pass: it has problems, or it is not what the person saw (no problems)."""

    draft: Draft
    problems: tuple[Problem, ...]


class Store:
    """The portal's part of the database, through its own role. Every method raises Unavailable."""

    def __init__(self, url: str, *, draft_hours: float, seconds: float) -> None:
        self._url = url
        self._draft_seconds = draft_hours * 3600
        self._seconds = seconds
        self._turns = asyncio.Semaphore(MAX_CONNECTIONS)
        self._abandoned: set[asyncio.Task[Any]] = set()

    async def ready(self) -> None:
        """Return if both tables answer."""

        async def work(connection: Connection) -> None:
            await connection.execute("SELECT 1 FROM portal.submissions LIMIT 1")
            await connection.execute("SELECT 1 FROM portal.drafts LIMIT 1")

        await self._run(work)

    async def draft(self, draft_id: UUID, session: str) -> Draft | None:
        """The draft, if it exists and belongs to `session`. It may be expired or filed."""
        return await self._run(lambda connection: _draft(connection, draft_id, session))

    async def save_period(self, draft_id: UUID, session: str, period: Period) -> bool:
        """Make the draft, or change its step 1. False if it is filed or another session's."""

        async def work(connection: Connection) -> bool:
            await connection.execute(
                """
                DELETE FROM portal.drafts WHERE id IN
                (SELECT id FROM portal.drafts WHERE expires_at <= now() FOR UPDATE SKIP LOCKED)
                """
            )
            cursor = await connection.execute(
                """
                INSERT INTO portal.drafts AS draft (id, session_digest, period, expires_at)
                SELECT %(id)s, %(session)s, %(period)s, now() + make_interval(secs => %(seconds)s)
                WHERE NOT EXISTS (SELECT 1 FROM portal.submissions WHERE draft_id = %(id)s)
                ON CONFLICT (id) DO UPDATE SET period = excluded.period, expires_at = excluded.expires_at
                WHERE draft.session_digest = excluded.session_digest AND draft.submission_id IS NULL
                """,
                {
                    "id": draft_id,
                    "session": _digest(session),
                    "period": Jsonb(period.values()),
                    "seconds": self._draft_seconds,
                },
            )
            return cursor.rowcount == 1

        return await self._run(work)

    async def save_answers(self, draft_id: UUID, session: str, answers: Mapping[str, str]) -> bool:
        """Save step 2. False if the draft is not there, expired, filed or another session's."""

        async def work(connection: Connection) -> bool:
            cursor = await connection.execute(
                """
                UPDATE portal.drafts
                SET answers = %(answers)s, expires_at = now() + make_interval(secs => %(seconds)s)
                WHERE id = %(id)s AND session_digest = %(session)s AND expires_at > now() AND submission_id IS NULL
                """,
                {
                    "id": draft_id,
                    "session": _digest(session),
                    "answers": Jsonb(dict(answers)),
                    "seconds": self._draft_seconds,
                },
            )
            return cursor.rowcount == 1

        return await self._run(work)

    async def submit(
        self, draft_id: UUID, session: str, questions: Sequence[Question], check: Callable[[Draft], Ready | Refused]
    ) -> Filed | Taken | Refused | None:
        """File the draft, if `check` lets the locked draft pass.

        Returns Filed for every submit of a filed draft; None if this session has no such draft or it is expired.
        """

        async def work(connection: Connection) -> Filed | Taken | Refused | None:
            # The lock makes a simultaneous submit of the same draft wait until this one has ended.
            draft = await _draft(connection, draft_id, session, lock=True)
            if draft is None or draft.submission_id is not None:
                filed = await _submission(connection, "draft_id = %s", draft_id)
                return None if filed is None else Filed(filed)
            if draft.expired:
                return None
            checked = check(draft)
            if isinstance(checked, Refused):
                return checked
            return await _file(connection, draft_id, checked, questions)

        return await self._run(work)

    async def by_reference(self, reference: str) -> Submission | None:
        """The filed report with this receipt reference."""
        return await self._run(lambda connection: _submission(connection, "reference = %s", reference))

    async def by_report_id(self, report_id: str) -> Submission | None:
        """The filed report with this report ID."""
        return await self._run(lambda connection: _submission(connection, "report_id = %s", report_id))

    async def by_draft(self, draft_id: UUID) -> Submission | None:
        """The report that this draft was filed as."""
        return await self._run(lambda connection: _submission(connection, "draft_id = %s", draft_id))

    async def filed(self, *, before: int | None = None) -> tuple[list[Submission], bool]:
        """The newest PAGE_SIZE filed reports (with an id below `before`), and whether there are older ones."""

        async def work(connection: Connection) -> list[Submission]:
            cursor = await connection.execute(
                """
                SELECT * FROM portal.submissions WHERE %(before)s::bigint IS NULL OR id < %(before)s
                ORDER BY id DESC LIMIT %(limit)s
                """,
                {"before": before, "limit": PAGE_SIZE + 1},
            )
            return [_as_submission(row) for row in await cursor.fetchall()]

        found = await self._run(work)
        return found[:PAGE_SIZE], len(found) > PAGE_SIZE

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` in one transaction on a connection of its own, committed when this returns."""

        async def transaction() -> T:
            async with self._turns:
                connection = await psycopg.AsyncConnection[DictRow].connect(
                    self._url, row_factory=dict_row, application_name="portal"
                )
                async with connection:
                    return await work(connection)

        task = asyncio.create_task(transaction())
        await asyncio.wait({task}, timeout=self._seconds)
        if not task.done():
            # A server that hangs also hangs the clean-up, for some ten seconds: the visitor does not wait for that.
            task.cancel()
            self._abandoned.add(task)
            task.add_done_callback(self._forget)
            raise Unavailable(f"no answer from the database within {self._seconds:g} s")
        try:
            return task.result()
        except _UNAVAILABLE as error:
            raise Unavailable(f"{type(error).__name__}: {error}") from error

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not report it as lost: its visitor was told already


def new_reference() -> str:
    """A receipt reference such as `RCT-4839-2750`: digits only, as people and OCR confuse O with 0 and I with 1."""
    number = f"{secrets.randbelow(10**8):08d}"
    return f"RCT-{number[:4]}-{number[4:]}"


async def _file(connection: Connection, draft_id: UUID, ready: Ready, questions: Sequence[Question]) -> Filed | Taken:
    """File the draft whose row the caller has locked."""
    row = {
        "report_id": ready.period.report_id,
        "quarter": ready.period.quarter_text,
        "department": ready.period.department,
        "answers": Jsonb(dict(ready.answers)),
        "questions": Jsonb([[question.key, question.label] for question in questions]),
        "draft_id": draft_id,
    }
    while True:
        # Waits for a simultaneous insert of the same report ID, and then inserts nothing.
        cursor = await connection.execute(
            """
            INSERT INTO portal.submissions (report_id, quarter, department, answers, questions, reference, draft_id)
            VALUES (%(report_id)s, %(quarter)s, %(department)s, %(answers)s, %(questions)s, %(reference)s, %(draft_id)s)
            ON CONFLICT DO NOTHING RETURNING *
            """,
            {**row, "reference": new_reference()},
        )
        if inserted := await cursor.fetchone():
            filed = _as_submission(inserted)
            await connection.execute("UPDATE portal.drafts SET submission_id = %s WHERE id = %s", (filed.id, draft_id))
            return Filed(filed)
        if same := await _submission(connection, "draft_id = %s", draft_id):
            return Filed(same)
        if first := await _submission(connection, "report_id = %s", ready.period.report_id):
            return Taken(first)
        # Neither the draft nor the report ID was in the way: the reference was, so draw another one.


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()


async def _draft(connection: Connection, draft_id: UUID, session: str, *, lock: bool = False) -> Draft | None:
    cursor = await connection.execute(
        f"""
        SELECT id, period, answers, expires_at <= now() AS expired, submission_id
        FROM portal.drafts WHERE id = %s AND session_digest = %s {"FOR UPDATE" if lock else ""}
        """,
        (draft_id, _digest(session)),
    )
    row = await cursor.fetchone()
    return None if row is None else Draft(**row)


async def _submission(connection: Connection, condition: str, value: Any) -> Submission | None:
    """`condition` is one of this module's own texts, never a request's."""
    cursor = await connection.execute(f"SELECT * FROM portal.submissions WHERE {condition}", (value,))
    row = await cursor.fetchone()
    return None if row is None else _as_submission(row)


def _as_submission(row: Mapping[str, Any]) -> Submission:
    return Submission(
        id=row["id"],
        report_id=row["report_id"],
        quarter=row["quarter"],
        department=row["department"],
        answers=row["answers"],
        questions=tuple((key, label) for key, label in row["questions"]),
        reference=row["reference"],
        submitted_at=row["submitted_at"],
    )
