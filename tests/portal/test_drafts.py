"""Drafts: where they are kept, for whom and how long; and that looking changes nothing."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from fastapi.routing import APIRoute

from portal import routes

from .conftest import ANSWERS, PERIOD, Browser, Records, Site, serving


def test_a_draft_is_kept_in_postgres_and_survives_the_portal(database: Any, records: Records) -> None:
    """Another process of the portal goes on with it."""
    with serving(database.portal_url) as first:
        review = first.browser().review()
        cookie = review.response.request.headers["cookie"]
    with serving(database.portal_url) as second:
        browser = second.browser()
        browser.client.headers["cookie"] = cookie
        page = browser.get(review.path)
        assert page.definitions == review.definitions
        assert browser.send(page).heading == "Report filed"


def test_a_draft_lives_for_the_hours_of_the_setting_after_its_last_save(database: Any, records: Records) -> None:
    """Each save begins the time anew."""
    with serving(database.portal_url, draft_hours=2) as site:
        browser = site.browser()
        attestations = browser.attestations()
        (draft,) = records.drafts
        assert draft["expires_at"] - draft["created_at"] == timedelta(hours=2)
        records.run("UPDATE portal.drafts SET expires_at = now() + interval '1 minute'")
        browser.send(attestations, ANSWERS)
        (left,) = records.run("SELECT expires_at - now() AS time FROM portal.drafts")
        assert left["time"] > timedelta(hours=1, minutes=59)


def test_an_expired_draft_is_neither_shown_nor_changed_nor_filed(browser: Browser, records: Records) -> None:
    """But what was typed into its pages is given back."""
    attestations = browser.attestations()
    review = browser.send(attestations, ANSWERS)
    records.run("UPDATE portal.drafts SET expires_at = now() - interval '1 second'")
    for step in ("period", "attestations", "review"):
        page = browser.get(review.path.replace("review", step))
        assert (page.status, page.heading) == (404, "This draft is not available")
    saved = browser.send(attestations, {**ANSWERS, "citation": "later.pdf, page 3"})
    assert saved.status == 404
    assert "later.pdf, page 3" in saved.definitions.values()
    submitted = browser.send(review)
    assert submitted.status == 404
    assert set(ANSWERS.values()) <= set(submitted.definitions.values())
    assert records.submissions == []


def test_expired_drafts_are_removed_when_the_next_one_is_saved(site: Site, records: Records) -> None:
    """Their answers do not come back with a new save, and unexpired drafts stay."""
    old, other, new = site.browser(), site.browser(), site.browser()
    period = old.get("/reports/new")
    old.send(old.send(period, PERIOD), ANSWERS)
    records.run("UPDATE portal.drafts SET expires_at = now() - interval '1 second'")
    other.attestations()
    new.attestations()
    assert len(records.drafts) == 2
    again = old.send(period, PERIOD)
    assert again.heading == "Attestations"
    assert not set(ANSWERS.values()) & set(again.fields.values())


def test_a_draft_belongs_to_its_session(site: Site, records: Records) -> None:
    """Another visitor who knows its address can neither see, change nor file it."""
    owner, stranger = site.browser(), site.browser()
    review = owner.review()
    draft = review.path.removesuffix("/review")
    token = stranger.get("/reports/new").fields["csrf"]
    before = records.everything()
    for step, values in (("period", PERIOD), ("attestations", ANSWERS), ("review", {**PERIOD, **ANSWERS})):
        assert stranger.get(f"{draft}/{step}").status == 404
        answer = stranger.client.post(f"{draft}/{step}", data={**values, "csrf": token})
        assert answer.status_code == 404
    assert records.everything() == before
    assert owner.send(review).heading == "Report filed"


def test_the_session_itself_is_not_in_the_database(browser: Browser, records: Records) -> None:
    """Whoever reads the drafts cannot act as their owners."""
    page = browser.attestations()
    session = page.response.request.headers["cookie"].partition("=")[2]
    assert session
    assert session not in str(records.everything())


def test_no_get_changes_anything(site: Site, records: Records) -> None:
    """Every path that answers a GET, for a draft at each step and a filed one, leaves both tables as they were."""
    browser = site.browser()
    browser.get("/reports/new")
    drafts = [
        browser.attestations(report_id="QI-2025-001").path.split("/")[2],
        browser.review(report_id="QI-2025-002").path.split("/")[2],
        (filed := browser.review(report_id="QI-2025-003")).path.split("/")[2],
        str(uuid.uuid4()),
    ]
    reference = browser.send(filed).definitions["Receipt reference"]
    records.run("UPDATE portal.drafts SET expires_at = now() - interval '1 s' WHERE id = %s", drafts[0])
    before = records.everything()
    assert [len(part) for part in before] == [1, 3]
    templates = [
        route.path for route in routes.router.routes if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    ]
    assert len(templates) >= 9
    for template in templates:
        for draft in drafts:
            browser.get(template.format(draft=draft, reference=reference))
        # The fields of the forms in the query do nothing either.
        browser.get(template.format(draft=drafts[1], reference=reference) + f"?{urlencode({**PERIOD, **ANSWERS})}")
    assert records.everything() == before


def test_sending_step_1_twice_makes_one_draft(browser: Browser, records: Records) -> None:
    """The page that was filled in carries the draft's id already."""
    page = browser.get("/reports/new")
    first, second = browser.send(page, PERIOD), browser.send(page, PERIOD)
    assert first.path == second.path
    assert len(records.drafts) == 1
