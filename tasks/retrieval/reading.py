"""A kept connection for searches: opened once, opened again when it broke, never in a transaction between two searches.

A connection of its own for each search would cost several times what the search itself does. It commits after each statement, so it holds
no lock while it waits (to make or drop a chunk set needs one that every search shares), and it can only read.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.pq import TransactionStatus

from tasks.domain.errors import TemporaryError
from tasks.store.connection import CONNECT_SECONDS, STATEMENT_MILLISECONDS, Connection, check_url, translated

T = TypeVar("T")

# Sent with the connection, so that they hold after each reconnect and cost no round trip.
# - relaxed_order: goes on until enough rows pass the filter; the few out of order are sorted afterwards.
# - max_scan_tuples: what does not find enough within these is answered by an exact scan.
# - ef_search: at 100,000 chunks 100 finds .94 of the ten nearest, 200 finds .98 (`python3 -m infra bench retrieval`).
# - no parallel workers: starting them takes longer than what they save of an exact scan of a few thousand rows.
# - jit off: compiling a query takes longer than any of these runs.
# - enable_sort off: where an index gives the order, it is used whatever the planner thinks of a table that it has not yet counted.
OPTIONS = {
    "default_transaction_read_only": "on",
    "statement_timeout": str(STATEMENT_MILLISECONDS),
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "200",
    "max_parallel_workers_per_gather": "0",
    "hnsw.max_scan_tuples": "20000",
    "jit": "off",
    "enable_sort": "off",
}


class SearchConnection:
    """One connection for all threads of an index: they take turns, and each turn is about a millisecond."""

    def __init__(self, url: str) -> None:
        """Connects at the first use."""
        check_url(url)
        self._url = url
        self._lock = threading.Lock()
        # In a list, so that what closes it at the end does not keep this object alive.
        self._kept: list[Connection] = []
        self.close = weakref.finalize(self, _close, self._kept)

    def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns. It only reads, and is called once more where the kept connection turned out to be broken.

        Raises TemporaryError or PermanentError as tasks/store/connection.py says.
        """
        with self._lock:
            fresh = not self._kept
            try:
                return self._try(work)
            except TemporaryError:
                # A connection that has just been made and fails is no accident of keeping it.
                if fresh or self._kept:
                    raise
            return self._try(work)

    def _try(self, work: Callable[[Connection], T]) -> T:
        with translated():
            if not self._kept:
                self._kept.append(_open(self._url))
            connection = self._kept[0]
            try:
                return work(connection)
            finally:
                # Broken, or left in the middle of something by an interruption: the next search begins with a new one.
                if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                    _close(self._kept)


def _open(url: str) -> Connection:
    connection = psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=CONNECT_SECONDS,
        application_name="filewright-search",
        options=" ".join(f"-c {name}={value}" for name, value in OPTIONS.items()),
        # A server that vanished without a word is noticed within this, not after the system's quarter of an hour.
        keepalives_idle=30,
        tcp_user_timeout=STATEMENT_MILLISECONDS,
        # Poolers that give each statement another server connection know nothing of prepared ones.
        prepare_threshold=None,
    )
    try:
        register_vector(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _close(kept: list[Connection]) -> None:
    while kept:
        kept.pop().close()
