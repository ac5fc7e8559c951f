"""Submits at the same time, in threads, against real Postgres: one report, one row.

Each test first locks the drafts' rows, waits until every submit stands before that lock, and lets them all go at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg

from portal import store

from .conftest import ANSWERS, Browser, Page, Records, Site, wait_until


def all_at_once(database: Any, sends: Sequence[Callable[[], Page]]) -> list[Page]:
    """Run the submits in threads, held back by a lock on all drafts until all of them are waiting for it."""
    assert len(sends) <= store.MAX_CONNECTIONS
    waiting = (
        "SELECT count(*) AS n FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name = 'portal' AND wait_event_type = 'Lock'"
    )
    server = Records(database.superuser_url)  # only it sees what other roles wait for
    with ThreadPoolExecutor(len(sends)) as pool, psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT * FROM portal.drafts FOR UPDATE")
        running = [pool.submit(send) for send in sends]
        wait_until(lambda: server.run(waiting)[0]["n"] == len(sends), "the submits did not meet at the lock")
        owner.commit()
        return [future.result(20) for future in running]


def same_session(browser: Browser, site: Site) -> Browser:
    """Another connection of the same browser session."""
    twin = site.browser()
    twin.client.cookies.update(browser.client.cookies)
    return twin


def test_simultaneous_submits_of_one_draft_give_one_row_and_one_receipt(
    site: Site, database: Any, records: Records
) -> None:
    """Every one of them is shown the same receipt."""
    browser = site.browser()
    review = browser.review()
    twins = [same_session(browser, site) for _ in range(8)]
    answers = all_at_once(database, [partial(twin.send, review) for twin in twins])
    assert [page.heading for page in answers] == ["Report filed"] * 8
    (row,) = records.submissions
    assert {page.path for page in answers} == {f"/receipts/{row['reference']}"}


def test_simultaneous_submits_of_one_report_id_give_one_row(site: Site, database: Any, records: Records) -> None:
    """One of eight drafts is filed; the others are told so with its receipt."""
    browsers = [site.browser() for _ in range(8)]
    reviews = [browser.review(citation=f"{number}.pdf, page 1") for number, browser in enumerate(browsers)]
    answers = all_at_once(
        database, [partial(browser.send, review) for browser, review in zip(browsers, reviews, strict=True)]
    )
    (row,) = records.submissions
    assert sorted(page.status for page in answers) == [200] + [409] * 7
    for number, page in enumerate(answers):
        assert page.definitions["Receipt reference"] == row["reference"]
        if page.status == 200:
            assert row["answers"]["citation"] == f"{number}.pdf, page 1"


def test_two_drafts_of_one_report_id_submitted_four_times_each_give_one_row(
    site: Site, database: Any, records: Records
) -> None:
    """The filed draft's four submits show its receipt, the other's four are refused."""
    owners = [site.browser(), site.browser()]
    reviews = [owner.review() for owner in owners]
    sends = [
        partial(same_session(owner, site).send, review)
        for owner, review in zip(owners, reviews, strict=True)
        for _ in range(4)
    ]
    answers = all_at_once(database, sends)
    assert len(records.submissions) == 1
    assert sorted([tuple({page.status for page in answers[:4]}), tuple({page.status for page in answers[4:]})]) == [
        (200,),
        (409,),
    ]


def test_a_save_that_waits_for_a_submit_changes_nothing_afterwards(site: Site, database: Any, records: Records) -> None:
    """Whichever comes first: the report is what the review page showed, or the submit is refused as changed."""
    browser = site.browser()
    attestations = browser.attestations()
    review = browser.send(attestations, ANSWERS)
    twin = same_session(browser, site)
    submitted, saved = all_at_once(
        database,
        [
            partial(browser.send, review),
            partial(twin.send, attestations, {**ANSWERS, "citation": "changed.pdf, page 9"}),
        ],
    )
    if submitted.heading == "Report filed":
        assert saved.status == 409
        (row,) = records.submissions
        assert row["answers"] == ANSWERS
    else:
        assert (submitted.status, saved.heading) == (409, "Review and submit")
        assert records.submissions == []


def test_many_visitors_file_different_reports_at_the_same_time(site: Site, records: Records) -> None:
    """Sixteen whole filings side by side, none lost and none mixed up."""
    start = threading.Barrier(16)

    def file(number: int) -> Page:
        browser = site.browser()
        start.wait(10)
        return browser.receipt(report_id=f"QI-2025-{number:03d}", citation=f"{number}.pdf, page 1")

    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(file, range(16)))
    filed = {row["report_id"]: row for row in records.submissions}
    assert len(filed) == 16
    for number, receipt in enumerate(receipts):
        row = filed[f"QI-2025-{number:03d}"]
        assert row["answers"]["citation"] == f"{number}.pdf, page 1"
        assert receipt.path == f"/receipts/{row['reference']}"


def test_a_reference_that_exists_is_drawn_again(browser: Browser, records: Records, monkeypatch: Any) -> None:
    """Two reports never share a receipt."""
    references = iter(["RCT-0000-0001", "RCT-0000-0001", "RCT-0000-0001", "RCT-0000-0002"])
    monkeypatch.setattr(store, "new_reference", lambda: next(references))
    first = browser.receipt()
    second = browser.receipt(report_id="QI-2025-015")
    assert (first.path, second.path) == ("/receipts/RCT-0000-0001", "/receipts/RCT-0000-0002")
    assert len(records.submissions) == 2
