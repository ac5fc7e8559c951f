"""Who may post a form, and what every response carries."""

from __future__ import annotations

from contextlib import closing, nullcontext
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from typing import Any

import psycopg
import pytest

from portal.security import HEADERS
from portal.settings import PortalSettings

from .conftest import ANSWERS, PERIOD, TODAY, Browser, Records, Site, serving


def test_a_form_without_the_sessions_token_changes_nothing_and_gives_back_what_was_typed(
    site: Site, records: Records
) -> None:
    """No token, another session's token, no session at all: 403 with the page, which can then be sent."""
    browser, other = site.browser(), site.browser()
    foreign = other.get("/reports/new").fields["csrf"]
    review = browser.review()
    before = records.everything()
    draft = review.path.removesuffix("/review")
    for step, values in (("period", PERIOD), ("attestations", ANSWERS), ("review", {**PERIOD, **ANSWERS})):
        for token in ({}, {"csrf": ""}, {"csrf": "é\x00"}, {"csrf": foreign}):
            answer = browser.client.post(f"{draft}/{step}", data={**values, **token})
            assert answer.status_code == 403, (step, token)
            assert "too old to be accepted" in answer.text
            assert all(text in answer.text for text in values.values())
    assert records.everything() == before

    forgetful = site.browser()
    page = forgetful.get("/reports/new")
    forgetful.client.cookies.clear()
    again = forgetful.send(page, PERIOD)
    assert (again.status, again.fields["report_id"]) == (403, PERIOD["report_id"])
    assert forgetful.send(again).heading == "Attestations"


def test_a_form_from_another_site_is_refused_even_with_the_token(browser: Browser, records: Records) -> None:
    """Another port of this machine is another site too. Nothing of the form is shown."""
    page = browser.get("/reports/new")
    for headers in (
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = browser.client.post(page.action, data={**page.fields, **PERIOD}, headers=headers)
        assert answer.status_code == 403, headers
        assert PERIOD["report_id"] not in answer.text
    assert records.drafts == []
    assert browser.send(page, PERIOD).heading == "Attestations"


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(site: Site, database: Any) -> None:
    """HttpOnly, SameSite, random, set once, and Secure where that is configured."""
    browser = site.browser()
    first = browser.get("/reports/new").response
    (morsel,) = SimpleCookie(first.headers["set-cookie"]).values()
    assert morsel["httponly"] and morsel["samesite"].lower() == "lax" and morsel["path"] == "/"
    assert not morsel["secure"] and not morsel["max-age"] and not morsel["expires"]
    assert len(morsel.value) == 43
    assert "set-cookie" not in browser.get("/reports/new").response.headers
    assert site.browser().get("/reports/new").response.headers["set-cookie"] != first.headers["set-cookie"]
    assert morsel.value not in first.text
    with serving(database.portal_url, secure_cookie=True) as secure:
        assert "; Secure" in secure.browser().get("/reports/new").response.headers["set-cookie"]


def test_a_malformed_session_cookie_is_replaced(browser: Browser) -> None:
    """What the portal did not make it does not use."""
    browser.client.cookies.set("qi_portal_session", "short")
    assert browser.get("/reports/new").response.headers["set-cookie"]


def test_every_response_carries_the_security_headers(database: Any) -> None:
    """Pages, files, redirects, refusals and the page of a fault; and nothing names the server's software."""

    def broken_clock() -> Any:
        raise RuntimeError("secret of the machine")

    with serving(database.portal_url, today=broken_clock) as site:
        browser = site.browser()
        page = browser.get("/reports/new")
        answers = [
            browser.client.get("/", follow_redirects=False),
            *(browser.client.get(path) for path in ("/reports", "/static/portal.css", "/static/icon.svg", "/health")),
            browser.client.get("/nowhere"),
            browser.client.put("/reports"),
            browser.client.post(page.action, content=b"x"),
            browser.client.get("/reports", headers={"Host": "elsewhere.example"}),
            browser.client.post(page.action, data={**page.fields, **PERIOD}),
        ]
    assert [answer.status_code for answer in answers] == [303, 200, 200, 200, 200, 404, 405, 415, 400, 500]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (answer.url, name)
        assert answer.headers["cache-control"] in {"no-store", "no-cache"}
        assert "server" not in answer.headers or "uvicorn" not in answer.headers["server"]
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy
    assert "Something went wrong" in answers[-1].text
    assert "secret of the machine" not in answers[-1].text and "Traceback" not in answers[-1].text


def test_the_portal_answers_only_under_its_own_names(database: Any) -> None:
    """Another site's name that leads to this address is refused; more names are a setting."""
    with serving(database.portal_url, allowed_hosts="reports.example, LOCALHOST") as site:
        browser = site.browser()
        for host, status in (
            ("reports.example", 200),
            ("localhost:1234", 200),
            ("127.0.0.1", 200),
            ("evil.example", 400),
            ("reports.example.evil.example", 400),
            ("reports.example:80:80", 400),
            ("", 400),
        ):
            assert browser.client.get("/reports", headers={"Host": host}).status_code == status, host


def test_a_body_above_the_limit_is_refused_with_a_page_and_the_portal_goes_on(database: Any, records: Records) -> None:
    """Whether its length is declared or not, and for a file as for a text."""
    with serving(database.portal_url, max_body_bytes=10_000) as site:
        browser = site.browser()
        page = browser.attestations()
        within = browser.send(page, {**ANSWERS, "citation": "x" * 8_000})
        assert within.status == 422
        long = browser.send(page, {**ANSWERS, "citation": "x" * 20_000})
        assert (long.status, long.heading) == (413, "The form is too large")
        file = browser.send(page, ANSWERS, files={"attachment": ("big.bin", b"\0" * 3_000_000)})
        assert file.status == 413

        def chunks() -> Any:
            for _ in range(50):
                yield b"a=" + b"x" * 1_000 + b"&"

        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert browser.client.post(page.action, content=chunks(), headers=form).status_code == 413
        with closing(HTTPConnection(site.base_url.removeprefix("http://"), timeout=10)) as connection:
            connection.putrequest("POST", page.action)
            connection.putheader("Content-Type", form["Content-Type"])
            connection.putheader("Content-Length", str(10**12))
            connection.endheaders()  # and nothing after them
            assert connection.getresponse().status == 413
        assert browser.get("/health").status == 200
    assert records.drafts[0]["answers"] is None


def test_the_portal_listens_on_the_loopback_address_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no accounts."""
    monkeypatch.delenv("PORTAL_HOST", raising=False)
    settings = PortalSettings(database_url="postgresql://")  # type: ignore[arg-type]
    assert settings.host == "127.0.0.1"
    assert settings.host_names == {"127.0.0.1", "localhost", "[::1]"}


def test_the_record_can_only_grow(database: Any) -> None:
    """The portal adds reports and never changes one; the grader reads reports only; the filing side reads nothing."""
    insert = (
        "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
        "VALUES ('QI-2025-009', 'Q1 2025', 'Pharmacy', '{}', 'R')"
    )
    for role, statement, allowed in (
        ("portal", insert, True),
        ("portal", "UPDATE portal.submissions SET answers = '{}'", False),
        ("portal", "DELETE FROM portal.submissions", False),
        ("portal", "TRUNCATE portal.drafts", False),
        ("portal", "CREATE TABLE portal.more ()", False),
        ("audit", "SELECT * FROM portal.submissions", True),
        ("audit", insert, False),
        ("audit", "UPDATE portal.submissions SET answers = '{}'", False),
        ("audit", "SELECT * FROM portal.drafts", False),
        ("filing", "SELECT * FROM portal.submissions", False),
        ("filing", "SELECT * FROM portal.drafts", False),
    ):
        refusal = nullcontext() if allowed else pytest.raises(psycopg.errors.InsufficientPrivilege)
        with psycopg.connect(getattr(database, f"{role}_url")) as connection, refusal:
            connection.execute(statement)


def test_the_record_refuses_a_report_id_that_is_none(database: Any) -> None:
    """The table's own checks hold whoever writes."""
    with psycopg.connect(database.portal_url) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(
            "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
            "VALUES ('QI-25-9', %s, 'Pharmacy', '{}', 'R')",
            (f"Q1 {TODAY.year}",),
        )
