"""What is refused on the page: nothing saved, everything typed still there, each error at its field."""

from __future__ import annotations

import json

from .conftest import ANSWERS, PERIOD, Browser, Records


def test_errors_stand_in_a_summary_and_at_their_fields(browser: Browser, records: Records) -> None:
    """The summary links to the fields, the fields refer to their errors, and the title says that there is one."""
    page = browser.send(
        browser.get("/reports/new"), {"quarter": "Q1", "year": "2027", "department": "", "report_id": "QI-2024-1"}
    )
    assert page.status == 422
    assert len(page.problems) == 3
    assert "is in the future" in page.error("year")
    assert page.error("department") == "Choose a department."
    assert "QI-YYYY-NNN" in page.error("report_id")
    assert page.error("quarter") == ""
    assert [link["href"] for link in page.soup.select(".problems a")] == ["#year", "#department", "#report_id"]
    assert page.soup.select_one("#year")["aria-invalid"] == "true"  # type: ignore[index]
    assert page.soup.title is not None and page.soup.title.get_text().startswith("Error: ")
    assert (page.fields["quarter"], page.fields["year"], page.fields["report_id"]) == ("Q1", "2027", "QI-2024-1")
    assert records.drafts == []


def test_each_answer_has_its_own_error(browser: Browser, records: Records) -> None:
    """Empty, over-long and invisible, each said at its field; the good one stays; nothing is saved."""
    page = browser.send(
        browser.attestations(),
        {**ANSWERS, "ncpdp_field": "460\u200b-ET", "effective_date": "x" * 301, "compliance_date": " "},
    )
    assert page.status == 422
    assert "U+200B ZERO WIDTH SPACE" in page.error("ncpdp_field")
    assert "this answer has 301" in page.error("effective_date")
    assert page.error("compliance_date") == "Enter an answer."
    assert page.error("citation") == ""
    assert page.fields["citation"] == ANSWERS["citation"]
    assert page.fields["ncpdp_field"] == "460\ufffd-ET", "what cannot be seen is marked, so that it can be removed"
    assert "By what date must covered entities comply? Enter an answer." in page.problems
    assert records.drafts[0]["answers"] is None
    assert browser.send(page, {"ncpdp_field": "460-ET"}).status == 422
    assert browser.send(page, ANSWERS).heading == "Review and submit"


def test_control_and_invisible_characters_are_refused_on_the_page(browser: Browser, records: Records) -> None:
    """In every kind of text field."""
    step_1, step_2 = browser.get("/reports/new"), browser.attestations()
    for unseen in ("\x00", "\t", "\n", "\r\n", "\x1b[31m", "\x7f", "\u202e", "\ufeff", "\xa0", "\u2028", "\U000e0041"):
        page = browser.send(step_1, {**PERIOD, "report_id": f"QI-2025{unseen}-014"})
        assert page.status == 422
        assert "cannot be seen" in page.error("report_id")
        page = browser.send(step_2, {**ANSWERS, "citation": f"a.pdf{unseen}, page 1"})
        assert page.status == 422
        assert "cannot be seen" in page.error("citation")
    assert records.drafts[0]["answers"] is None


def test_bytes_that_are_no_text_are_refused_on_the_page(browser: Browser) -> None:
    """Not decoded into something that nobody typed."""
    page = browser.attestations()
    body = f"csrf={page.fields['csrf']}&citation=%C3%28%FF&ncpdp_field=a&effective_date=b&compliance_date=c"
    refused = browser.client.post(
        page.action, content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert refused.status_code == 422
    assert "could not be read" in refused.text


def test_a_very_long_answer_is_refused_on_the_page(browser: Browser) -> None:
    """Cut nowhere: the page shows all of it, with its length."""
    page = browser.send(browser.attestations(), {**ANSWERS, "citation": "y" * 100_000})
    assert page.status == 422
    assert "this answer has 100000" in page.error("citation")
    assert page.fields["citation"] == "y" * 100_000
    assert "maxlength" not in page.response.text, "a browser would cut what is typed without a word"


def test_uploads_in_text_fields_are_refused_on_the_page(browser: Browser, records: Records) -> None:
    """A file in place of an answer is an error at that field; the other answers stay."""
    page = browser.attestations()
    values = {name: text for name, text in ANSWERS.items() if name != "citation"}
    refused = browser.send(page, values, files={"citation": ("answer.txt", b"final-rule.pdf, page 1", "text/plain")})
    assert refused.status == 422
    assert "file cannot be uploaded" in refused.error("citation")
    assert refused.fields["ncpdp_field"] == ANSWERS["ncpdp_field"]
    step_1 = browser.get("/reports/new")
    refused = browser.send(step_1, {**PERIOD, "year": ""}, files={"report_id": ("id.txt", b"QI-2025-014")})
    assert "file cannot be uploaded" in refused.error("report_id")
    assert records.drafts[0]["answers"] is None


def test_a_form_with_parts_is_read_like_any_other(browser: Browser) -> None:
    """multipart/form-data without files is an ordinary form."""
    page = browser.attestations()
    parts = {name: (None, text) for name, text in {**page.fields, **ANSWERS}.items()}
    assert "Review and submit" in browser.client.post(page.action, files=parts).text


def test_a_field_that_comes_twice_is_refused_on_the_page(browser: Browser) -> None:
    """Which of the two was meant is not for the portal to guess."""
    page = browser.send(browser.attestations(), {**ANSWERS, "citation": ["a.pdf, page 1", "b.pdf, page 2"]})
    assert page.status == 422
    assert "more than once" in page.error("citation")


def test_fields_that_are_missing_are_errors_on_the_page(browser: Browser) -> None:
    """A form without fields is an empty form."""
    page = browser.get("/reports/new")
    refused = browser.client.post(page.action, data={"csrf": page.fields["csrf"]})
    assert refused.status_code == 422
    assert refused.text.count('aria-invalid="true"') == 4


def test_bodies_that_are_no_form_are_refused(browser: Browser, records: Records) -> None:
    """With a page, and without a fault."""
    action = browser.get("/reports/new").action
    for content_type, body, status in (
        ("application/json", b'{"year": 2025}', 415),
        ("text/plain", b"year=2025", 415),
        ("", b"year=2025", 415),
        ("multipart/form-data", b"year=2025", 400),
        ("multipart/form-data; boundary=x", b"nonsense", 400),
        ("multipart/form-data; boundary=x", b"--x\r\nnonsense", 403),  # no fields, so no token
        ("application/x-www-form-urlencoded", b"&".join(b"a=1" for _ in range(200)), 400),
    ):
        answer = browser.client.post(action, content=body, headers={"Content-Type": content_type})
        assert answer.status_code == status, (content_type, answer.status_code)
        assert "<h1>" in answer.text
    assert records.drafts == []


def test_everything_is_validated_again_at_submit(browser: Browser, records: Records) -> None:
    """A draft that was made wrong behind the portal's back is not filed, and each error links to its step."""
    review = browser.review()
    draft = review.path.removesuffix("/review")
    good = records.drafts[0]
    for column, key, value, name in (
        ("period", "year", "2031", "year"),
        ("period", "report_id", "QI-2024-014", "report_id"),
        ("period", "quarter", "Q7", "quarter"),
        ("period", "department", "Astrology", "department"),
        ("answers", "citation", "", "citation"),
        ("answers", "citation", "x" * 301, "citation"),
        ("answers", "ncpdp_field", "460\u202e-ET", "ncpdp_field"),
    ):
        records.run(
            f"UPDATE portal.drafts SET {column} = jsonb_set({column}, ARRAY[%s], to_jsonb(%s::text))", key, value
        )
        shown = browser.get(review.path)
        refused = browser.send(shown)
        assert refused.status == 422, (key, value)
        step = "period" if column == "period" else "attestations"
        assert [link["href"] for link in refused.soup.select(".problems a")] == [f"{draft}/{step}#{name}"]
        assert records.submissions == []
        records.run(f"UPDATE portal.drafts SET {column} = %s::jsonb", json.dumps(good[column]))
    assert browser.send(browser.get(review.path)).heading == "Report filed"
