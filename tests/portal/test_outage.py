"""A dead database: a 503 that loses nothing, and a health check that says so. Real outages of a real Postgres."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .conftest import ANSWERS, PERIOD, Browser, Records, serving, wait_until


@contextmanager
def outage(database: Any) -> Iterator[None]:
    """The server refuses connections to this database and has dropped those that there were."""
    with psycopg.connect(database.superuser_url.replace(database.name, "postgres"), autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{database.name}" WITH ALLOW_CONNECTIONS false')
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database.name,))
        try:
            yield
        finally:
            server.execute(f'ALTER DATABASE "{database.name}" WITH ALLOW_CONNECTIONS true')


def test_each_form_comes_back_as_typed_and_can_be_sent_again_afterwards(
    browser: Browser, database: Any, records: Records
) -> None:
    """All three steps meet an outage; each page then carries on as if nothing had been."""
    page = browser.get("/reports/new")
    with outage(database):
        page = browser.send(page, PERIOD)
        assert (page.status, page.heading) == (503, "Period and unit")
        assert "cannot reach its database" in page.notice
        assert page.response.headers["retry-after"] == "5"
        assert {name: page.fields[name] for name in PERIOD} == PERIOD
    page = browser.send(page)
    assert page.heading == "Attestations"
    with outage(database):
        page = browser.send(page, ANSWERS)
        assert (page.status, page.heading) == (503, "Attestations")
        assert {name: page.fields[name] for name in ANSWERS} == ANSWERS
    page = browser.send(page)
    assert page.heading == "Review and submit"
    with outage(database):
        page = browser.send(page)
        assert (page.status, page.heading) == (503, "Review and submit")
        assert "A draft is filed only once" in page.notice
        assert ANSWERS["citation"] in page.definitions.values()
    assert records.submissions == []
    assert browser.send(page).heading == "Report filed"
    (row,) = records.submissions
    assert row["answers"] == ANSWERS


def test_pages_that_only_show_say_what_is_wrong(browser: Browser, database: Any) -> None:
    """Not an error of the machine, and not a wrong `nothing was filed`. What needs no database works."""
    review = browser.review()
    with outage(database):
        for path in ("/reports", "/reports?report_id=QI-2025-014", "/receipts/RCT-0000-0000", review.path):
            page = browser.get(path)
            assert (page.status, page.heading) == (503, "The portal is not available at the moment"), path
            assert page.response.headers["retry-after"] == "5"
            assert "has been filed" not in page.text
            assert "psycopg" not in page.text and database.name not in page.text
        assert browser.get("/reports/new").status == 200
        assert browser.get("/static/portal.css").status == 200
    assert browser.get(review.path).status == 200


def test_the_health_check_follows_the_database(browser: Browser, database: Any) -> None:
    """200 and 503, at once in both directions."""
    healthy = browser.get("/health").response
    assert (healthy.status_code, healthy.json()) == (200, {"status": "ok", "database": "ok"})
    with outage(database):
        ill = browser.get("/health").response
        assert (ill.status_code, ill.json()) == (503, {"status": "unavailable", "database": "unreachable"})
    assert browser.get("/health").status == 200


def test_a_database_without_the_portals_tables_or_rights_is_not_healthy(database: Any) -> None:
    """A wrong role and a schema that is not there are outages to the visitor, too."""
    for url in (database.filing_url, database.audit_url, database.superuser_url.replace(database.name, "postgres")):
        with serving(url) as site:
            browser = site.browser()
            assert browser.get("/health").status == 503
            page = browser.send(browser.get("/reports/new"), PERIOD)
            assert (page.status, page.fields["report_id"]) == (503, PERIOD["report_id"])


def test_a_portal_can_start_before_its_database(records: Records) -> None:
    """It says that it is not healthy, and does not end."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with serving(f"postgresql://filewright_portal:x@127.0.0.1:{port}/nowhere") as site:
        assert site.browser().get("/health").status == 503


def test_a_database_that_hangs_is_an_outage_after_the_seconds_of_the_setting(database: Any, records: Records) -> None:
    """A lock that is never released and a server that accepts and stays silent: 503 in time, then as before."""
    with serving(database.portal_url, database_seconds=0.5) as site:
        browser = site.browser()
        page = browser.get("/reports/new")
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("LOCK TABLE portal.submissions, portal.drafts IN ACCESS EXCLUSIVE MODE")
            begun = time.monotonic()
            refused = browser.send(page, PERIOD)
            assert refused.status == 503
            assert browser.get("/health").status == 503
            assert time.monotonic() - begun < 5
        wait_until(lambda: browser.get("/health").status == 200, "the portal did not recover")
        assert browser.send(refused).heading == "Attestations"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = make_conninfo(database.portal_url, host="127.0.0.1", port=silent.getsockname()[1])
        with serving(url, database_seconds=0.5) as site:
            begun = time.monotonic()
            assert site.browser().get("/health").status == 503
            assert time.monotonic() - begun < 5


class LosesTheAnswerToACommit:
    """A relay to Postgres that, once armed, passes a COMMIT on and cuts the line before its answer comes back."""

    def __init__(self, url: str) -> None:
        target = conninfo_to_dict(url)
        self._target = (str(target["host"]), int(str(target["port"])))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = make_conninfo(url, host="127.0.0.1", port=self._listener.getsockname()[1])
        self.armed = False
        self.cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed: the test is over
                return
            server = socket.create_connection(self._target)
            threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        with source, sink:
            while True:
                try:
                    data = source.recv(65536)
                    if not data:
                        return
                    if from_client and self.armed and b"COMMIT" in data:
                        self.cut += 1
                        source.shutdown(socket.SHUT_RDWR)
                        sink.sendall(data)
                        time.sleep(0.3)  # the server commits
                        return
                    sink.sendall(data)
                except OSError:  # the other direction closed the line
                    return

    def close(self) -> None:
        self._listener.close()


def test_a_commit_whose_answer_was_lost_is_not_filed_twice(database: Any, records: Records) -> None:
    """The report is in the record although the visitor saw a 503; sending again shows its receipt."""
    relay = LosesTheAnswerToACommit(database.portal_url)
    try:
        with serving(relay.url) as site:
            browser = site.browser()
            review = browser.review()
            relay.armed = True
            unknown = browser.send(review)
            relay.armed = False
            assert relay.cut == 1
            assert unknown.status == 503
            wait_until(lambda: len(records.submissions) == 1, "the server did not commit")
            receipt = browser.send(unknown)
            assert receipt.heading == "Report filed"
            assert [row["reference"] for row in records.submissions] == [receipt.definitions["Receipt reference"]]
    finally:
        relay.close()
