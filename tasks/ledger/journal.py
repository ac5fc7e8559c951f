"""The journal of one attempt: each call durable before it runs, completed after it.

Every write is committed before the method returns, over one connection that is opened again once when it broke. Where the store
does not answer, or the attempt is no longer the filing's live one, RunStopped ends the run: an action that cannot be recorded is
not done. Pictures are files named by their content, in the attempt's folder; the row holds the hash.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tasks.domain.errors import RunStopped
from tasks.domain.steps import Call, StepResult, Turn
from tasks.ledger.filings import Attempt

# NUL can stand in JSON and not in Postgres' text; lone surrogates cannot be encoded at all.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class LedgerJournal:
    """The `Journal` of `tasks/domain/steps.py`, kept in Postgres and in `folder`."""

    def __init__(self, url: str, attempt: Attempt, folder: Path) -> None:
        self._url = url
        self._attempt = attempt
        self._key = (attempt.filing.id, attempt.number)
        self._folder = folder
        self._connection: psycopg.Connection[Any] | None = None
        self._steps = 0
        self.last_screenshot: Path | None = None
        self.actions = 0
        self.searches = 0

    def begin(self, call: Call) -> int:
        number = self._steps + 1
        self._write(
            "INSERT INTO ledger.steps (filing_id, attempt, number, tool_use_id, tool, arguments) "
            "SELECT filing_id, number, %s, %s, %s, %s FROM ledger.attempts "
            "WHERE filing_id = %s AND number = %s AND ended_at IS NULL",
            (number, clean(call.tool_use_id), clean(call.tool), json_value(dict(call.arguments)), *self._key),
        )
        self._steps = number
        if call.tool.startswith("search"):
            self.searches += 1
        else:
            self.actions += 1
        return number

    def finish(self, step: int, result: StepResult) -> None:
        self._write(
            "UPDATE ledger.steps AS s SET status = %s, text = %s, detail = %s, screenshot = %s, milliseconds = %s, "
            "ended_at = clock_timestamp() FROM ledger.attempts AS a "
            "WHERE s.filing_id = %s AND s.attempt = %s AND s.number = %s "
            "AND a.filing_id = s.filing_id AND a.number = s.attempt AND a.ended_at IS NULL",
            (
                result.status,
                clean(result.text),
                clean(result.detail),
                result.screenshot,
                result.milliseconds,
                *self._key,
                step,
            ),
        )
        for rank, chunk in enumerate(result.passages, start=1):
            self._write(
                "INSERT INTO ledger.passages_shown (filing_id, attempt, step, rank, chunk_id) VALUES (%s, %s, %s, %s, %s)",
                (*self._key, step, rank, chunk),
            )

    def turn(self, turn: Turn) -> None:
        usage = turn.usage
        self._write(
            "INSERT INTO ledger.turns (filing_id, attempt, number, model, stop_reason, content, input_tokens, output_tokens, "
            "cache_creation_input_tokens, cache_read_input_tokens, dollars, milliseconds) "
            "SELECT filing_id, number, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s FROM ledger.attempts "
            "WHERE filing_id = %s AND number = %s AND ended_at IS NULL",
            (
                turn.number,
                turn.model,
                turn.stop_reason,
                json_value(list(turn.content)),
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_creation_input_tokens,
                usage.cache_read_input_tokens,
                turn.dollars,
                turn.milliseconds,
                *self._key,
            ),
        )

    def screenshot(self, png: bytes) -> str:
        digest = hashlib.sha256(png).hexdigest()
        path = self._folder / f"{digest}.png"
        if not path.exists():
            draft = path.with_suffix(f".{os.getpid()}.part")
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                draft.write_bytes(png)
                draft.replace(path)
            except OSError as error:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
                raise RunStopped(f"record not writable: {error.strerror or error}") from error
        self.last_screenshot = path
        return digest

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        """Run one autocommitted statement that must touch a row; one new connection where the old one broke.

        A second try cannot write a row twice: the first one's row would violate the primary key, and that is then the proof
        that it was committed.
        """
        for last in (False, True):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = psycopg.connect(
                        self._url, autocommit=True, connect_timeout=10, application_name="filewright-journal"
                    )
                done = self._connection.execute(statement, values)
            except psycopg.errors.UniqueViolation as error:
                if last:
                    return
                raise RunStopped("journal out of order") from error
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                self.close()
                if last:
                    raise RunStopped("store unreachable") from error
            else:
                if done.rowcount == 0:
                    raise RunStopped("lease lost")
                return


def clean(text: str) -> str:
    """`text` as Postgres can store it: NUL and lone surrogates become U+FFFD."""
    return text.replace("\0", REPLACEMENT).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def json_value(value: Any) -> Jsonb:
    """`value` as jsonb, with the same replacement in every string; anything unknown to JSON becomes its text."""

    def cleaned(part: Any) -> Any:
        if isinstance(part, str):
            return clean(part)
        if isinstance(part, dict):
            return {clean(str(key)): cleaned(inner) for key, inner in part.items()}
        if isinstance(part, list | tuple):
            return [cleaned(inner) for inner in part]
        return part

    return Jsonb(cleaned(value), dumps=lambda v: json.dumps(v, default=str, allow_nan=False))
