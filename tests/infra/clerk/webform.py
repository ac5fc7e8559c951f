"""A small web form of the tests' own: list, three steps, receipt. Another website than the demo portal, on purpose.

It differs where a form may differ: labels left of the fields or above them, quarter and year in one box, other words on the
buttons, a page too long for the screen, questions in another order and wording.
"""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

QUESTIONS = {
    "field": "Which NCPDP field, number and name, marks a partial fill of a Schedule II drug under rule HHS-7781-F?",
    "effect": "When does the rule come into effect?",
    "comply": "By which date do covered entities have to comply?",
    "source": "Name the document and page that you rely on.",
}


@dataclass
class Form:
    """How the form looks and what was filed with it."""

    font: str = "DejaVu Sans"
    order: tuple[str, ...] = ("field", "effect", "comply", "source")
    questions: dict[str, str] = field(default_factory=lambda: dict(QUESTIONS))
    labels_left: bool = False
    spacing: int = 14
    textarea: bool = False
    filed: list[dict[str, str]] = field(default_factory=list)
    draft: dict[str, str] = field(default_factory=dict)


def _page(form: Form, title: str, body: str) -> bytes:
    row = "display:grid;grid-template-columns:360px 1fr;gap:14px;align-items:center" if form.labels_left else ""
    return f"""<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>
    body {{ font: 16px '{form.font}'; margin: 0; background: #f3f5f7; color: #1c2733 }}
    main {{ width: 860px; margin: 20px auto; background: #fff; padding: 18px 26px; border: 1px solid #cfd6dd }}
    header {{ background: #24405c; color: #fff; padding: 10px 24px; font-size: 18px }}
    h1 {{ font-size: 24px; margin: 0 0 14px }}
    .row {{ margin: 0 0 {form.spacing}px; {row} }} label {{ display: block; margin-bottom: 5px; font-weight: bold }}
    input, select, textarea {{ font: inherit; padding: 6px 8px; border: 1px solid #77808a; border-radius: 3px;
      box-sizing: border-box; width: 100%; background: #fff }}
    select, .short {{ width: 300px }}
    button, a.button {{ font: inherit; background: #24405c; color: #fff; border: 0; border-radius: 4px;
      padding: 9px 18px; text-decoration: none; display: inline-block }}
    .error {{ color: #b00020; margin: 0 0 5px }} dt {{ font-weight: bold }} dd {{ margin: 0 0 10px }}
    table {{ border-collapse: collapse }} td, th {{ border: 1px solid #cfd6dd; padding: 6px 14px; text-align: left }}
    </style><header>Reporting desk</header><main><h1>{title}</h1>{body}</main></html>""".encode()


def _row(form: Form, name: str, label: str, control: str, errors: dict[str, str]) -> str:
    error = f"<p class=error>{errors[name]}</p>" if name in errors else ""
    return f"<div class=row><label for={name}>{html.escape(label)}</label>{error}{control}</div>"


def _unit_page(form: Form, errors: dict[str, str]) -> bytes:
    def options(name: str, values: tuple[str, ...]) -> str:
        chosen = form.draft.get(name)
        items = "".join(f"<option {'selected' if value == chosen else ''}>{value}</option>" for value in values)
        return f"<select id={name} name={name}><option value=''>Choose one</option>{items}</select>"

    quarters = tuple(f"Q{number} {year}" for year in (2025, 2026) for number in (1, 2, 3, 4))
    report = html.escape(form.draft.get("report", ""))
    rows = (
        _row(form, "quarter", "Reporting quarter", options("quarter", quarters), errors)
        + _row(form, "unit", "Department", options("unit", ("Cardiology", "Oncology", "Pharmacy")), errors)
        + _row(form, "report", "Report ID", f"<input id=report name=report class=short value='{report}'>", errors)
    )
    return _page(form, "Period and unit", f"<form method=post action=/unit>{rows}<button>Continue</button></form>")


def _question_page(form: Form, errors: dict[str, str]) -> bytes:
    rows = ""
    for key in form.order:
        value = html.escape(form.draft.get(key, ""), quote=True)
        if form.textarea:
            control = f"<textarea id={key} name={key} rows=2>{value}</textarea>"
        else:
            control = f'<input id={key} name={key} value="{value}">'
        rows += _row(form, key, form.questions[key], control, errors)
    return _page(
        form, "Attestations", f"<form method=post action=/questions>{rows}<button>Save and continue</button></form>"
    )


def _record(form: Form, values: dict[str, str]) -> str:
    names = {"quarter": "Quarter", "unit": "Department", "report": "Report ID", **form.questions}
    return "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(values.get(key, ''))}</dd>" for key, name in names.items()
    )


def _handler(form: Form) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """The tests read what was filed, not the log."""

        def _send(self, page: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def _go(self, path: str) -> None:
            self.send_response(303)
            self.send_header("Location", path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            if self.path == "/":
                body = "<p>No reports have been filed yet.</p>"
                if form.filed:
                    body = "<table><tr><th>Report ID<th>Quarter<th>Reference</tr>" + "".join(
                        f"<tr><td>{row['report']}<td>{row['quarter']}<td>{row['reference']}</tr>" for row in form.filed
                    )
                    body += "</table>"
                self._send(
                    _page(form, "Filed reports", body + "<p><a class=button href=/unit>Start a new report</a></p>")
                )
            elif self.path == "/unit":
                self._send(_unit_page(form, {}))
            elif self.path == "/questions":
                self._send(_question_page(form, {}))
            elif self.path == "/review":
                body = f"<dl>{_record(form, form.draft)}</dl><form method=post action=/file><button>Submit report</button></form>"
                self._send(_page(form, "Review and submit", body))
            elif self.path == "/receipt":
                row = form.filed[-1]
                body = f"<p>Your report has been filed.</p><dl><dt>Receipt reference</dt><dd>{row['reference']}</dd>"
                self._send(_page(form, "Receipt", f"{body}{_record(form, row)}</dl>"))
            else:
                self._send(b"", 404)

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode(), keep_blank_values=True)
            form.draft.update({key: values[0].strip() for key, values in sent.items()})
            if self.path == "/unit":
                missing = {
                    key: "This answer is required." for key in ("quarter", "unit", "report") if not form.draft.get(key)
                }
                if any(row["report"] == form.draft.get("report") for row in form.filed):
                    missing["report"] = "A report with this ID has already been filed."
                self._send(_unit_page(form, missing)) if missing else self._go("/questions")
            elif self.path == "/questions":
                missing = {key: "This answer is required." for key in form.order if not form.draft.get(key)}
                self._send(_question_page(form, missing)) if missing else self._go("/review")
            elif self.path == "/file":
                form.filed.append({**form.draft, "reference": "RD-58213-K"})
                self._go("/receipt")
            else:
                self._send(b"", 404)

    return Handler


@contextmanager
def served(form: Form) -> Iterator[str]:
    """The form on a free port of this machine; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(form))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
