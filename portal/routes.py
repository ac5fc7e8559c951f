"""The portal's pages: which path shows what, and what each form does.

It decides the order of the steps and the answer to each failure. The rules for values are in validation.py, those for
drafts and reports in store.py, those for who may post in security.py.

Rules
    a GET changes nothing; every change is a POST with the session's token, answered by a redirect when it worked
    a form that did not work comes back with what was typed: 422 wrong, 403 token, 409 changed or taken, 503 no database
    what is filed is what the visitor saw: the review page posts what it showed, and the submit compares it with the
    draft
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from portal import security
from portal.forms import read_form
from portal.pages import Pages
from portal.questions import Question
from portal.security import Visitor
from portal.settings import PortalSettings
from portal.store import Draft, Filed, Ready, Refused, Store, Submission, Taken, Unavailable
from portal.validation import (
    DEPARTMENTS,
    PERIOD_FIELDS,
    QUARTERS,
    Form,
    Problem,
    check_answers,
    check_period,
    report_id_problem,
)

NO_DATABASE = (
    "The portal cannot reach its database at the moment, so nothing was saved. "
    "Everything that you entered is still on this page: wait a moment and send it again."
)
NO_DATABASE_SUBMIT = (
    "The portal cannot reach its database at the moment, so it cannot confirm that the report was filed. "
    "Your draft is kept: wait a moment and submit again. A draft is filed only once, however often it is submitted."
)
OLD_PAGE = "This page was too old to be accepted, and nothing was saved. Check what you entered and send it again."
CHANGED = (
    "The draft was changed after the page was shown, so it was not submitted. Check the values below and submit again."
)
PERIOD_LABELS = {"quarter": "Quarter", "year": "Year", "department": "Department", "report_id": "Report ID"}
REFERENCE = re.compile(r"[A-Za-z0-9-]{1,40}")


@dataclass(frozen=True, slots=True)
class Portal:
    """What the routes work with; one value per process."""

    settings: PortalSettings
    questions: Sequence[Question]
    store: Store
    pages: Pages
    today: Callable[[], date]

    @property
    def question_labels(self) -> dict[str, str]:
        """The wording of the questions by key."""
        return {question.key: question.label for question in self.questions}


def current_portal(request: Request) -> Portal:
    """The portal that this request is served by."""
    portal: Portal = request.app.state.portal
    return portal


async def posted_form(request: Request) -> Form:
    """The form of a POST that did not come from another site."""
    if security.from_another_site(request):
        raise HTTPException(403, "The form was sent from another site, so it was not accepted.")
    return await read_form(request, current_portal(request).settings.max_body_bytes)


def draft_in_path(draft: str) -> UUID:
    """The draft's id; any other text in its place is a page that does not exist."""
    try:
        if str(UUID(draft)) == draft:
            return UUID(draft)
    except ValueError as error:
        raise HTTPException(404) from error
    raise HTTPException(404)


InPortal = Annotated[Portal, Depends(current_portal)]
Guest = Annotated[Visitor, Depends(security.visitor)]
Posted = Annotated[Form, Depends(posted_form)]
DraftId = Annotated[UUID, Depends(draft_in_path)]

router = APIRouter(default_response_class=Response)


# The list, receipts and what surrounds them


@router.get("/")
async def home() -> Response:
    """The list of filed reports is the front page."""
    return RedirectResponse("/reports", 303)


@router.get("/reports")
async def reports(portal: InPortal, report_id: str = "", before: str = "") -> Response:
    """Filed reports, newest first, or the one with a report ID."""
    wanted = report_id.strip(" ")
    problems: list[Problem] = []
    found: list[Submission] = []
    older = False
    if wanted:
        if message := report_id_problem(wanted):
            problems.append(Problem("report_id", message))
        elif filed := await portal.store.by_report_id(wanted):
            found = [filed]
    else:
        found, older = await portal.store.filed(before=_list_position(before))
    return portal.pages.render(
        "reports",
        status=422 if problems else 200,
        wanted=wanted,
        problems=problems,
        labels=PERIOD_LABELS,
        reports=found,
        older=found[-1].id if older else None,
    )


def _list_position(before: str) -> int | None:
    if not before:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", before):
        raise HTTPException(404)
    return int(before)


@router.get("/receipts/{reference}")
async def receipt(portal: InPortal, reference: str) -> Response:
    """The receipt of a filed report."""
    filed = await portal.store.by_reference(reference) if REFERENCE.fullmatch(reference) else None
    if filed is None:
        raise HTTPException(404)
    return portal.pages.render("receipt", report=filed, answers=_asked_and_answered(filed, portal.questions))


def _asked_and_answered(filed: Submission, questions: Sequence[Question]) -> list[tuple[str, str]]:
    """(wording, answer) in the order in which they were asked; today's wording where the record has none."""
    wording = dict(filed.questions) or {question.key: question.label for question in questions}
    keys = [key for key in wording if key in filed.answers] + [key for key in filed.answers if key not in wording]
    return [(wording.get(key, key), filed.answers[key]) for key in keys]


@router.get("/health")
async def health(portal: InPortal) -> Response:
    """200 if a report could be filed now, 503 if the database does not let it."""
    try:
        await portal.store.ready()
    except Unavailable:
        return JSONResponse({"status": "unavailable", "database": "unreachable"}, 503)
    return JSONResponse({"status": "ok", "database": "ok"})


@router.get("/static/portal.css")
async def style_sheet(portal: InPortal) -> Response:
    """The style sheet."""
    return Response(portal.pages.style_sheet, media_type="text/css", headers={"Cache-Control": "no-cache"})


@router.get("/static/icon.svg")
async def icon(portal: InPortal) -> Response:
    """The icon of the browser's tab."""
    return Response(portal.pages.icon, media_type="image/svg+xml", headers={"Cache-Control": "no-cache"})


# Step 1: period and unit


@router.get("/reports/new")
async def new_report(portal: InPortal, guest: Guest) -> Response:
    """An empty step 1. Its draft has an id from here on, and a row only once the step was accepted."""
    return _period_page(portal, guest, uuid4(), {})


@router.get("/drafts/{draft}/period")
async def show_period(portal: InPortal, guest: Guest, draft_id: DraftId) -> Response:
    """Step 1 of a draft, to change it."""
    draft = await portal.store.draft(draft_id, guest.session)
    if refusal := await _not_open(portal, draft_id, draft):
        return refusal
    assert draft is not None
    return _period_page(portal, guest, draft_id, draft.period)


@router.post("/drafts/{draft}/period")
async def save_period(portal: InPortal, guest: Guest, draft_id: DraftId, form: Posted) -> Response:
    """Check step 1 and make the draft, or change it."""
    if not guest.sent(form.values.get("csrf", "")):
        # A lost session cannot reach its draft any more; what was typed starts another one.
        page_draft = uuid4() if guest.new else draft_id
        return _period_page(portal, guest, page_draft, form.values, notice=OLD_PAGE, status=403)
    checked = check_period(form, portal.today())
    if checked.value is None:
        return _period_page(portal, guest, draft_id, form.values, problems=checked.problems, status=422)
    period = checked.value
    try:
        first = await portal.store.by_report_id(period.report_id)
        saved = first is None and await portal.store.save_period(draft_id, guest.session, period)
        filed = None if saved else await portal.store.by_draft(draft_id)
    except Unavailable:
        return _period_page(portal, guest, draft_id, form.values, notice=NO_DATABASE, status=503)
    if saved:
        return RedirectResponse(f"/drafts/{draft_id}/attestations", 303)
    if filed is not None:
        return _already_filed(portal, filed, _typed(form, PERIOD_LABELS))
    if first is not None:
        taken = Problem(
            "report_id",
            f"Report {first.report_id} has already been filed. Its receipt is {first.reference}.",
            f"/receipts/{first.reference}",
            f"View receipt {first.reference}",
        )
        return _period_page(portal, guest, draft_id, form.values, problems=[taken], status=422)
    return _no_draft(portal, _typed(form, PERIOD_LABELS))


def _period_page(
    portal: Portal,
    guest: Visitor,
    draft_id: UUID,
    values: Mapping[str, str],
    *,
    problems: Sequence[Problem] = (),
    notice: str = "",
    status: int = 200,
) -> Response:
    page = portal.pages.render(
        "period",
        status=status,
        csrf=guest.csrf,
        draft_id=draft_id,
        values={name: values.get(name, "") for name in PERIOD_FIELDS},
        problems=problems,
        notice=notice,
        quarters=QUARTERS,
        departments=DEPARTMENTS,
        labels=PERIOD_LABELS,
    )
    security.remember(page, guest, secure=portal.settings.secure_cookie)
    return page


# Step 2: attestations


@router.get("/drafts/{draft}/attestations")
async def show_attestations(portal: InPortal, guest: Guest, draft_id: DraftId) -> Response:
    """Step 2 of a draft."""
    draft = await portal.store.draft(draft_id, guest.session)
    if refusal := await _not_open(portal, draft_id, draft):
        return refusal
    assert draft is not None
    return _attestations_page(portal, guest, draft_id, draft.answers or {})


@router.post("/drafts/{draft}/attestations")
async def save_attestations(portal: InPortal, guest: Guest, draft_id: DraftId, form: Posted) -> Response:
    """Check step 2 and save it."""
    if not guest.sent(form.values.get("csrf", "")):
        return _attestations_page(portal, guest, draft_id, form.values, notice=OLD_PAGE, status=403)
    checked = check_answers(form, portal.questions)
    if checked.value is None:
        return _attestations_page(portal, guest, draft_id, form.values, problems=checked.problems, status=422)
    try:
        saved = await portal.store.save_answers(draft_id, guest.session, checked.value)
        filed = None if saved else await portal.store.by_draft(draft_id)
    except Unavailable:
        return _attestations_page(portal, guest, draft_id, form.values, notice=NO_DATABASE, status=503)
    if saved:
        return RedirectResponse(f"/drafts/{draft_id}/review", 303)
    typed = _typed(form, portal.question_labels)
    return _no_draft(portal, typed) if filed is None else _already_filed(portal, filed, typed)


def _attestations_page(
    portal: Portal,
    guest: Visitor,
    draft_id: UUID,
    values: Mapping[str, str],
    *,
    problems: Sequence[Problem] = (),
    notice: str = "",
    status: int = 200,
) -> Response:
    page = portal.pages.render(
        "attestations",
        status=status,
        csrf=guest.csrf,
        draft_id=draft_id,
        values={question.key: values.get(question.key, "") for question in portal.questions},
        problems=problems,
        notice=notice,
        questions=portal.questions,
        labels=portal.question_labels,
    )
    security.remember(page, guest, secure=portal.settings.secure_cookie)
    return page


# Step 3: review and submit


@router.get("/drafts/{draft}/review")
async def show_review(portal: InPortal, guest: Guest, draft_id: DraftId) -> Response:
    """Step 3: the whole draft, as it would be filed."""
    draft = await portal.store.draft(draft_id, guest.session)
    if refusal := await _not_open(portal, draft_id, draft):
        return refusal
    assert draft is not None
    if draft.answers is None:
        return RedirectResponse(f"/drafts/{draft_id}/attestations", 303)
    return _review_page(portal, guest, draft_id, _values(draft), problems=_check(portal, draft).problems)


@router.post("/drafts/{draft}/review")
async def submit(portal: InPortal, guest: Guest, draft_id: DraftId, form: Posted) -> Response:
    """File the draft: once, whole, valid, and as it was shown."""
    if not guest.sent(form.values.get("csrf", "")):
        return _review_page(portal, guest, draft_id, form.values, notice=OLD_PAGE, status=403)

    def check(draft: Draft) -> Ready | Refused:
        checked = _check(portal, draft)
        if checked.ready is None:
            return Refused(draft, checked.problems)
        filed_values = {**checked.ready.period.values(), **checked.ready.answers}
        if form.repeated or any(form.values.get(name) != text for name, text in filed_values.items()):
            return Refused(draft, ())
        return checked.ready

    try:
        outcome = await portal.store.submit(draft_id, guest.session, portal.questions, check)
    except Unavailable:
        return _review_page(portal, guest, draft_id, form.values, notice=NO_DATABASE_SUBMIT, status=503)
    match outcome:
        case Filed(submission):
            return RedirectResponse(f"/receipts/{submission.reference}", 303)
        case Taken(first):
            return portal.pages.render("taken", status=409, draft_id=draft_id, first=first)
        case Refused(draft, problems) if problems:
            return _review_page(portal, guest, draft_id, _values(draft), problems=problems, status=422)
        case Refused(draft, _):
            return _review_page(portal, guest, draft_id, _values(draft), notice=CHANGED, status=409)
        case _:
            return _no_draft(portal, _typed(form, PERIOD_LABELS | portal.question_labels))


@dataclass(frozen=True, slots=True)
class _Checked:
    ready: Ready | None
    problems: tuple[Problem, ...]


def _check(portal: Portal, draft: Draft) -> _Checked:
    """Both steps of a saved draft under today's rules and questions."""
    period = check_period(Form(draft.period), portal.today())
    answers = check_answers(Form(draft.answers or {}), portal.questions)
    problems = period.problems + answers.problems
    if period.value is None or answers.value is None:
        return _Checked(None, problems)
    return _Checked(Ready(period.value, answers.value), problems)


def _values(draft: Draft) -> dict[str, str]:
    return {**draft.period, **(draft.answers or {})}


def _review_page(
    portal: Portal,
    guest: Visitor,
    draft_id: UUID,
    values: Mapping[str, str],
    *,
    problems: Sequence[Problem] = (),
    notice: str = "",
    status: int = 200,
) -> Response:
    """`values` by field name; a problem links to its field in the step where it can be changed."""
    steps = dict.fromkeys(PERIOD_FIELDS, "period") | dict.fromkeys(portal.question_labels, "attestations")
    linked = [
        Problem(
            problem.field, problem.message, f"/drafts/{draft_id}/{steps[problem.field]}#{problem.field}", "Change it"
        )
        for problem in problems
    ]
    page = portal.pages.render(
        "review",
        status=status,
        csrf=guest.csrf,
        draft_id=draft_id,
        values={name: values.get(name, "") for name in steps},
        problems=linked,
        notice=notice,
        questions=portal.questions,
        labels=PERIOD_LABELS | portal.question_labels,
    )
    security.remember(page, guest, secure=portal.settings.secure_cookie)
    return page


# What does not go on


async def _not_open(portal: Portal, draft_id: UUID, draft: Draft | None) -> Response | None:
    """The answer for a draft that cannot be worked on: its receipt if it is filed, else a page that says so."""
    if draft is not None and draft.submission_id is not None:
        filed = await portal.store.by_draft(draft_id)
        assert filed is not None, "a foreign key binds the draft to its report"
        return RedirectResponse(f"/receipts/{filed.reference}", 303)
    if draft is None or draft.expired:
        return _no_draft(portal, ())
    return None


def _no_draft(portal: Portal, typed: Sequence[tuple[str, str]]) -> Response:
    return portal.pages.message(
        "This draft is not available",
        "The draft has expired, or it was begun in another browser session. "
        f"A draft is kept for {portal.settings.draft_hours:g} hours after it was last saved.",
        *(["What you entered is shown below, so that you can copy it into a new report."] if typed else []),
        status=404,
        typed=typed,
    )


def _already_filed(portal: Portal, filed: Submission, typed: Sequence[tuple[str, str]]) -> Response:
    return portal.pages.message(
        "This draft has already been filed",
        f"It was filed as report {filed.report_id} with receipt {filed.reference}, and can no longer be changed. "
        "What you entered now was not saved.",
        status=409,
        typed=typed,
        links=((f"/receipts/{filed.reference}", f"View receipt {filed.reference}"), ("/reports", "Filed reports")),
    )


def _typed(form: Form, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(label, form.values[name]) for name, label in labels.items() if form.values.get(name)]


STATUS_TEXTS = {
    400: ("The request could not be read", "The form that arrived was not complete. Go back and send it again."),
    403: ("The form was not accepted", ""),
    404: ("Page not found", "There is no page at this address. If you typed it, check it for mistakes."),
    405: ("Page not found", "This address takes forms only. Start from the list of filed reports."),
    413: (
        "The form is too large",
        "What was sent is larger than any report can be, so it was not read and nothing was saved. "
        "Go back, shorten the answers or remove the file, and send the form again.",
    ),
    415: ("The form was not accepted", ""),
}


def add_error_pages(app: FastAPI) -> None:
    """Every failure answers with a page that a person can read, and with nothing of the machine's own texts."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        heading, text = STATUS_TEXTS.get(error.status_code, ("The request was not accepted", ""))
        said = error.detail if error.status_code in {403, 415} else text
        page = current_portal(request).pages.message(heading, said, status=error.status_code, headers=error.headers)
        if error.status_code == 413:
            page.headers["Connection"] = "close"  # the rest of the body may never be read
        return page

    async def unavailable(request: Request, error: Exception) -> Response:
        return current_portal(request).pages.message(
            "The portal is not available at the moment",
            "The portal cannot reach its database. Nothing that was saved is lost: wait a moment and load it again.",
            status=503,
        )

    async def broken(request: Request, error: Exception) -> Response:
        return current_portal(request).pages.message(
            "Something went wrong",
            "The portal could not finish this request because of a fault of its own. Nothing was filed by it.",
            status=500,
        )

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Unavailable, unavailable)
    app.add_exception_handler(Exception, broken)
