"""Turns values into the portal's HTML pages and its style sheet.

It decides how things look and how a moment is written; the template engine escapes every text that came from a visitor.
It never talks to the database and never reads a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from portal.validation import unseen_characters_marked

FOLDER = Path(__file__).parent
DEFAULT_FONT = '"DejaVu Sans", Verdana, Arial, sans-serif'


class Pages:
    """The templates, the style sheet and the icon, read once at start."""

    def __init__(self, *, font: str) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["moment"] = moment
        self._templates.filters["marked"] = unseen_characters_marked
        family = f"{font}, {DEFAULT_FONT}" if font else DEFAULT_FONT
        self.style_sheet = f":root {{ --font: {family}; }}\n" + (FOLDER / "static/portal.css").read_text("utf-8")
        self.icon = (FOLDER / "static/icon.svg").read_text("utf-8")

    def render(
        self, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: object
    ) -> HTMLResponse:
        """The page `templates/<template>.html` with these values. A 503 asks the client to come back in 5 seconds."""
        sent = dict(headers or {})
        if status == 503:
            sent["Retry-After"] = "5"
        return HTMLResponse(self._templates.get_template(f"{template}.html").render(values), status, sent)

    def message(
        self,
        heading: str,
        *paragraphs: str,
        status: int,
        typed: Sequence[tuple[str, str]] = (),
        links: Sequence[tuple[str, str]] = (("/reports", "Filed reports"), ("/reports/new", "Start a new report")),
        headers: Mapping[str, str] | None = None,
    ) -> HTMLResponse:
        """A page that says what happened. `typed` are (label, text) to copy from; `links` are (path, text)."""
        return self.render(
            "message", status=status, headers=headers, heading=heading, paragraphs=paragraphs, typed=typed, links=links
        )


def moment(when: datetime) -> str:
    """A moment as people read it, in UTC: `30 November 2026, 15:33 UTC`."""
    utc = when.astimezone(UTC)
    return f"{utc.day} {utc:%B %Y, %H:%M} UTC"
