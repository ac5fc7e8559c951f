"""The way of a report: three steps, a receipt, the list."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

from .conftest import ANSWERS, PERIOD, Browser, Records, Site

FIRST_QUESTION = (
    "Which NCPDP field (number and name) identifies a partial fill of a Schedule II drug under rule CMS-0055-F?"
)


def test_a_report_goes_through_three_steps_to_a_receipt(browser: Browser, records: Records) -> None:
    """The receipt shows the reference and what was typed, and the record holds exactly that."""
    step_1 = browser.get("/reports/new")
    assert step_1.heading == "Period and unit"
    step_2 = browser.send(step_1, PERIOD)
    assert step_2.heading == "Attestations"
    step_3 = browser.send(step_2, ANSWERS)
    assert step_3.heading == "Review and submit"
    assert step_3.definitions["Quarter"] == "Q3 2025"
    assert step_3.definitions[FIRST_QUESTION] == ANSWERS["ncpdp_field"]
    before = datetime.now(UTC)
    receipt = browser.send(step_3)

    assert receipt.heading == "Report filed"
    reference = receipt.definitions["Receipt reference"]
    assert receipt.path == f"/receipts/{reference}"
    assert re.fullmatch(r"RCT-[0-9]{4}-[0-9]{4}", reference)
    assert receipt.definitions["Report ID"] == "QI-2025-014"
    assert receipt.definitions["Quarter"] == "Q3 2025"
    assert receipt.definitions["Department"] == "Pharmacy"
    assert receipt.definitions["Filed at"].endswith(" UTC")
    assert list(receipt.definitions.values())[-4:] == list(ANSWERS.values())
    (row,) = records.submissions
    assert (row["report_id"], row["quarter"], row["department"]) == ("QI-2025-014", "Q3 2025", "Pharmacy")
    assert row["answers"] == ANSWERS
    assert row["reference"] == reference
    assert abs((row["submitted_at"] - before).total_seconds()) < 60
    assert row["questions"][0] == ["ncpdp_field", FIRST_QUESTION]


def test_answers_are_kept_as_typed(browser: Browser) -> None:
    """Characters that mean something to HTML or SQL, accents, dashes and emoji come back as they were."""
    answer = "§ 162.1102 – “é” <b>&amp; 'x'; DROP TABLE portal.submissions; -- 🙂"
    receipt = browser.receipt(citation=answer)
    assert list(receipt.definitions.values())[-1] == answer
    assert "<b>" not in receipt.response.text


def test_spaces_at_both_ends_of_an_answer_are_dropped(browser: Browser, records: Records) -> None:
    """What is filed has no blanks around it."""
    browser.receipt(citation="  final-rule.pdf, page 1 ", report_id=" QI-2025-014  ")
    (row,) = records.submissions
    assert (row["answers"]["citation"], row["report_id"]) == ("final-rule.pdf, page 1", "QI-2025-014")


def test_a_second_submit_of_a_draft_shows_the_same_receipt(browser: Browser, records: Records) -> None:
    """Sending the review page again, even once the draft itself is gone, leads to the first receipt."""
    review = browser.review()
    first = browser.send(review)
    assert browser.send(review).path == first.path
    records.run("DELETE FROM portal.drafts")
    assert browser.send(review).path == first.path
    assert len(records.submissions) == 1


def test_another_draft_with_a_filed_report_id_is_told_so_with_the_first_receipt(site: Site, records: Records) -> None:
    """Both drafts were begun before the first was filed; the second is refused at submit."""
    one, other = site.browser(), site.browser()
    late = other.review(department="Oncology", citation="other.pdf, page 2")
    first = one.receipt()
    refused = other.send(late)
    reference = first.definitions["Receipt reference"]
    assert refused.status == 409
    assert refused.heading == "Report QI-2025-014 has already been filed"
    assert refused.definitions["Receipt reference"] == reference
    assert not refused.path.startswith("/receipts/")
    assert refused.soup.select_one(f'a[href="/receipts/{reference}"]')
    (row,) = records.submissions
    assert row["department"] == "Pharmacy"

    changed = other.send(other.get(late.path.replace("review", "period")), {"report_id": "QI-2025-015"})
    filed = other.send(other.send(changed))
    assert filed.definitions["Report ID"] == "QI-2025-015"
    assert filed.definitions["Department"] == "Oncology"


def test_a_filed_report_id_is_refused_at_step_1_with_the_first_receipt(site: Site, records: Records) -> None:
    """Nobody types four answers for a report that is already there."""
    reference = site.browser().receipt().definitions["Receipt reference"]
    browser = site.browser()
    page = browser.send(browser.get("/reports/new"), PERIOD)
    assert page.status == 422
    assert reference in page.error("report_id")
    assert page.soup.select_one(f'#report_id-error a[href="/receipts/{reference}"]')
    assert page.fields["report_id"] == "QI-2025-014"
    assert len(records.drafts) == 1


def test_a_filed_draft_cannot_be_changed(browser: Browser, records: Records) -> None:
    """Its pages lead to the receipt; its forms are refused and give back what was typed."""
    period = browser.get("/reports/new")
    attestations = browser.send(period, PERIOD)
    review = browser.send(attestations, ANSWERS)
    receipt = browser.send(review)
    for page in (period, attestations, review):
        assert browser.get(page.action).path == receipt.path
    before = records.everything()
    for page, typed in ((attestations, {**ANSWERS, "citation": "changed.pdf, page 9"}), (period, PERIOD)):
        refused = browser.send(page, typed)
        assert refused.status == 409
        assert receipt.definitions["Receipt reference"] in refused.text
        assert list(typed.values())[-1] in refused.definitions.values()
    assert records.everything() == before


def test_what_is_filed_is_what_the_review_page_showed(browser: Browser, records: Records) -> None:
    """A draft that was changed in another tab meanwhile is shown again before it is filed."""
    review = browser.review()
    attestations = review.path.replace("review", "attestations")
    browser.send(browser.get(attestations), {"effective_date": "April 1, 2020 (final-rule.pdf, page 5)"})
    refused = browser.send(review)
    assert (refused.status, refused.heading) == (409, "Review and submit")
    assert "was changed after the page was shown" in refused.notice
    assert "April 1, 2020 (final-rule.pdf, page 5)" in refused.definitions.values()
    assert records.submissions == []
    assert browser.send(refused).heading == "Report filed"
    (row,) = records.submissions
    assert row["answers"]["effective_date"] == "April 1, 2020 (final-rule.pdf, page 5)"


def test_a_saved_step_is_shown_again_with_its_values(browser: Browser) -> None:
    """Going back loses nothing."""
    review = browser.review()
    period = browser.get(review.path.replace("review", "period"))
    assert {name: period.fields[name] for name in PERIOD} == PERIOD
    attestations = browser.send(period, {"year": "2024", "report_id": "QI-2024-014"})
    assert {name: attestations.fields[name] for name in ANSWERS} == ANSWERS
    assert browser.send(attestations).definitions["Quarter"] == "Q3 2024"


def test_the_review_of_a_draft_without_attestations_leads_to_step_2(browser: Browser, records: Records) -> None:
    """A step cannot be skipped, neither by looking nor by sending."""
    attestations = browser.attestations()
    review = attestations.path.replace("attestations", "review")
    assert browser.get(review).heading == "Attestations"
    refused = browser.client.post(review, data={**PERIOD, **ANSWERS, "csrf": attestations.fields["csrf"]})
    assert refused.status_code == 422
    assert records.submissions == []


def test_the_list_shows_filed_reports_and_finds_one_by_its_id(site: Site) -> None:
    """Newest first; a filter shows one; a filter that matches nothing says so in words."""
    browser = site.browser()
    assert "No report has been filed yet." in browser.get("/").text
    browser.receipt()
    second = browser.receipt(report_id="QI-2025-015", department="Cardiology")
    listed = browser.get("/reports")
    assert listed.path == "/reports"
    assert [header.get_text() for header in listed.soup.select("thead th")] == [
        "Report ID",
        "Quarter",
        "Department",
        "Receipt reference",
        "Filed at",
    ]
    assert [row[0] for row in listed.rows] == ["QI-2025-015", "QI-2025-014"]
    assert listed.rows[0][:4] == ["QI-2025-015", "Q3 2025", "Cardiology", second.definitions["Receipt reference"]]
    start = listed.soup.find("a", string="Start a new report")
    assert start is not None and start["href"] == "/reports/new"

    assert [row[0] for row in browser.get("/reports?report_id=QI-2025-014").rows] == ["QI-2025-014"]
    nothing = browser.get("/reports?report_id=QI-2025-099")
    assert (nothing.status, nothing.rows) == (200, [])
    assert "No report with ID QI-2025-099 has been filed." in nothing.text


def test_a_filter_that_is_no_report_id_is_an_error_on_the_page(browser: Browser) -> None:
    """It must not look like a report that was not filed."""
    for wrong in ("14", "QI-2025-014%00", "%E2%80%8B", "qi-2025-014", "%FF", "x" * 5000):
        page = browser.get(f"/reports?report_id={wrong}")
        assert page.status == 422
        assert "QI-YYYY-NNN" in page.error("report_id")
        assert "has been filed" not in page.text


def test_a_long_list_is_shown_in_pages(browser: Browser, records: Records) -> None:
    """Fifty at a time, each report on exactly one page."""
    records.run(
        "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
        "SELECT 'QI-2025-' || lpad(n::text, 3, '0'), 'Q1 2025', 'Pharmacy', '{}', 'RCT-' || n "
        "FROM generate_series(1, 120) AS n ORDER BY n"
    )
    seen: list[str] = []
    path = "/reports"
    for _ in range(3):
        page = browser.get(path)
        seen += [row[0] for row in page.rows]
        older = page.soup.find("a", string="Older reports")
        path = older["href"] if older else ""  # type: ignore[assignment]
    assert path == ""
    assert seen == [f"QI-2025-{n:03d}" for n in range(120, 0, -1)]


def test_a_report_that_was_put_into_the_record_by_hand_has_a_receipt(browser: Browser, records: Records) -> None:
    """A row without the wording of its questions is shown with today's."""
    records.run(
        "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
        """VALUES ('QI-2025-001', 'Q1 2025', 'Pharmacy', '{"citation": "a.pdf, page 1", "other": "x"}', 'BY-HAND-1')"""
    )
    receipt = browser.get("/receipts/BY-HAND-1")
    assert receipt.definitions["Which document and page is your source?"] == "a.pdf, page 1"
    assert receipt.definitions["other"] == "x"


def test_addresses_that_lead_nowhere_are_pages_that_say_so(browser: Browser) -> None:
    """Unknown receipts, drafts and paths are 404, not faults."""
    for path in (
        "/receipts/RCT-0000-0000",
        "/receipts/%00",
        "/receipts/" + "x" * 3000,
        "/drafts/1/period",
        f"/drafts/{uuid.uuid4()}/period",
        f"/drafts/{str(uuid.uuid4()).upper()}/review",
        "/reports?before=x",
        "/reports?before=-1",
        "/nowhere",
        "/docs",
        "/openapi.json",
    ):
        page = browser.get(path)
        assert page.status == 404, path
        assert page.heading in {"Page not found", "This draft is not available"}
        assert page.soup.select_one('a[href="/reports"]')
    assert browser.get("/reports?before=999999999999999999").status == 200
