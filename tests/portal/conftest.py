"""The portal as a visitor meets it: a real server on a port of its own, a browser's worth of HTTP, pages read as HTML."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any

import httpx
import psycopg
import pytest
from bs4 import BeautifulSoup, Tag
from psycopg.rows import dict_row

from portal.app import create_server
from portal.settings import PortalSettings

TODAY = date(2026, 11, 30)
PERIOD = {"quarter": "Q3", "year": "2025", "department": "Pharmacy", "report_id": "QI-2025-014"}
ANSWERS = {
    "ncpdp_field": "460-ET Quantity Prescribed (final-rule.pdf, page 1)",
    "effective_date": "March 24, 2020 (final-rule.pdf, page 1)",
    "compliance_date": "September 21, 2020 (final-rule.pdf, page 1)",
    "citation": "final-rule.pdf, page 1",
}


class Page:
    """One answer of the portal, read as a page."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.path = response.url.path
        self.soup = BeautifulSoup(response.text, "html.parser")

    @property
    def heading(self) -> str:
        return self._text("h1")

    @property
    def text(self) -> str:
        return self.soup.get_text(" ", strip=True)

    @property
    def notice(self) -> str:
        return self._text(".notice")

    @property
    def problems(self) -> list[str]:
        """The sentences of the summary."""
        return [item.get_text(" ", strip=True) for item in self.soup.select(".problems li")]

    def error(self, name: str) -> str:
        """The error that the field refers to with aria-describedby, or an empty string."""
        field = self.soup.find(id=name)
        assert isinstance(field, Tag)
        for described_by in str(field.get("aria-describedby", "")).split():
            described = self.soup.find(id=described_by)
            assert isinstance(described, Tag), f"{described_by} does not exist"
            if described_by.endswith("-error"):
                return described.get_text(" ", strip=True).removeprefix("Error: ")
        return ""

    @property
    def action(self) -> str:
        return str(self.soup.select_one("form[method=post]")["action"])  # type: ignore[index]

    @property
    def fields(self) -> dict[str, str]:
        """What a browser would send: hidden, text and select fields of the page's form by name."""
        values = {
            str(field["name"]): str(field.get("value", "")) for field in self.soup.select("form[method=post] input")
        }
        for choice in self.soup.select("form[method=post] select"):
            selected = choice.select_one("option[selected]")
            values[str(choice["name"])] = str(selected["value"]) if selected else ""
        return values

    @property
    def definitions(self) -> dict[str, str]:
        return {
            term.get_text(" ", strip=True): value.get_text(" ", strip=True)
            for term, value in zip(self.soup.select("dt"), self.soup.select("dd"), strict=True)
        }

    @property
    def rows(self) -> list[list[str]]:
        return [
            [cell.get_text(" ", strip=True) for cell in row.select("th, td")] for row in self.soup.select("tbody tr")
        ]

    def _text(self, selector: str) -> str:
        found = self.soup.select_one(selector)
        return "" if found is None else found.get_text(" ", strip=True)


class Browser:
    """One session: its own cookies, the Origin header that a browser sends with a form, redirects followed."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.client = httpx.Client(
            base_url=base_url, headers={"Origin": base_url}, follow_redirects=True, timeout=20, trust_env=False
        )

    def get(self, path: str) -> Page:
        return Page(self.client.get(path))

    def send(self, page: Page, fields: Mapping[str, Any] | None = None, **more: Any) -> Page:
        """Send the page's form, with some fields filled in differently."""
        return Page(self.client.post(page.action, data={**page.fields, **(fields or {})}, **more))

    def attestations(self, **period: str) -> Page:
        """Step 2 of a new draft."""
        page = self.send(self.get("/reports/new"), {**PERIOD, **period})
        assert (page.status, page.heading) == (200, "Attestations"), page.text
        return page

    def review(self, **values: str) -> Page:
        """Step 3 of a new draft."""
        period = {name: value for name, value in values.items() if name in PERIOD}
        answers = {name: value for name, value in values.items() if name not in PERIOD}
        page = self.send(self.attestations(**period), {**ANSWERS, **answers})
        assert (page.status, page.heading) == (200, "Review and submit"), page.text
        return page

    def receipt(self, **values: str) -> Page:
        """The receipt of a new report."""
        page = self.send(self.review(**values))
        assert (page.status, page.heading) == (200, "Report filed"), page.text
        return page


class Site:
    """A running portal."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._browsers: list[Browser] = []

    def browser(self) -> Browser:
        browser = Browser(self.base_url)
        self._browsers.append(browser)
        return browser

    def close(self) -> None:
        for browser in self._browsers:
            browser.client.close()


@contextmanager
def serving(database_url: str, *, today: Callable[[], date] = lambda: TODAY, **settings: Any) -> Iterator[Site]:
    """A portal on a free port, until the block ends."""
    server = create_server(PortalSettings(database_url=database_url, **settings), today=today, log_level="error")  # type: ignore[arg-type]
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    site = Site(f"http://127.0.0.1:{listener.getsockname()[1]}")
    try:
        wait_until(lambda: server.started, "the portal did not start")
        yield site
    finally:
        site.close()
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "the portal did not stop"


def wait_until(condition: Callable[[], bool], complaint: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.01)


class Records:
    """The portal's tables, read and changed behind its back by the owner."""

    def __init__(self, owner_url: str) -> None:
        self._owner_url = owner_url

    def run(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self._owner_url, row_factory=dict_row) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    @property
    def submissions(self) -> list[dict[str, Any]]:
        return self.run("SELECT * FROM portal.submissions ORDER BY id")

    @property
    def drafts(self) -> list[dict[str, Any]]:
        return self.run("SELECT * FROM portal.drafts ORDER BY created_at, id")

    def everything(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return self.submissions, self.drafts


@pytest.fixture
def site(database: Any) -> Iterator[Site]:
    """A portal on a fresh database."""
    with serving(database.portal_url) as running:
        yield running


@pytest.fixture
def browser(site: Site) -> Browser:
    """A visitor of `site`."""
    return site.browser()


@pytest.fixture
def records(database: Any) -> Records:
    """The tables behind `site`."""
    return Records(database.owner_url)
