"""Keeps an attempt's lease alive, and stops the run when it is lost.

A thread renews at a third of the lease's length, so two renewals may fail before another attempt can take over. The run asks `check()`
before each request and each action; a lease that ran out by our own clock counts as lost, whatever Postgres would say, because another
attempt may have begun.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from tasks.domain.errors import FilewrightError, RunStopped
from tasks.ledger.filings import Attempt, renew


class Lease:
    """Use it in a `with` block around everything that the attempt does. `since` is time.monotonic() from before the claim."""

    def __init__(self, url: str, attempt: Attempt, seconds: int, since: float) -> None:
        self._url = url
        self._attempt = attempt
        self._seconds = seconds
        self._done = threading.Event()
        self._lost = threading.Event()
        self._alive_until = since + seconds
        self._thread = threading.Thread(target=self._renew, name=f"lease of {attempt.filing.id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join(timeout=15)

    def check(self) -> None:
        """Raise RunStopped("lease lost") when this attempt may no longer act."""
        if self._lost.is_set() or time.monotonic() >= self._alive_until:
            raise RunStopped("lease lost")

    def _renew(self) -> None:
        while not self._done.wait(self._seconds / 3):
            asked = time.monotonic()
            try:
                held = renew(self._url, self._attempt, self._seconds)
            except FilewrightError:
                # The store is away; what was granted last still counts, and `check` ends the run when that is over.
                continue
            if not held:
                self._lost.set()
                return
            self._alive_until = asked + self._seconds
