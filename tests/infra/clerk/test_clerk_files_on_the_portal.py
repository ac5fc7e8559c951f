"""The clerk drives a real Firefox: on the demo portal with its questions reordered and reworded, and on a form of the tests' own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infra.postgres import free_port
from tests.infra.clerk import rig, webform
from tests.infra.clerk.regulations import TASK, Regulations

ASKED_AS_USUAL = """
[[questions]]
key = "ncpdp_field"
label = "Which NCPDP field (number and name) identifies a partial fill of a Schedule II drug under rule HHS-7781-F?"
[[questions]]
key = "effective_date"
label = "On what date does the rule take effect?"
[[questions]]
key = "compliance_date"
label = "By what date must covered entities comply?"
[[questions]]
key = "citation"
label = "Which document and page is your source?"
"""
ASKED_IN_OTHER_WORDS = """
[[questions]]
key = "citation"
label = "Cite the publication and the page on which you base these answers."
[[questions]]
key = "compliance_date"
label = "What is the deadline for compliance of covered entities with HHS-7781-F?"
[[questions]]
key = "ncpdp_field"
label = "When a pharmacy dispenses only part of a Schedule II prescription, in which data element, by number and name, is it told?"
[[questions]]
key = "effective_date"
label = "From which day is the regulation effective?"
"""
ASKED_BACKWARDS = """
[[questions]]
key = "compliance_date"
label = "State the day by which entities have to comply."
[[questions]]
key = "effective_date"
label = "Since when is rule HHS-7781-F in force?"
[[questions]]
key = "citation"
label = "Source (document, page)"
[[questions]]
key = "ncpdp_field"
label = "Identifier and name of the field used for partial fills of Schedule II drugs"
"""


@contextmanager
def portal(database_url: str, questions: Path, font: str, log: Path) -> Iterator[str]:
    """The demo portal as its own process; yields the address of its list of reports."""
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PORTAL_DATABASE_URL": database_url,
        "PORTAL_PORT": str(port),
        "PORTAL_QUESTIONS": str(questions),
        "PORTAL_FONT": font,
    }
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "portal"], env=environment, stdout=output, stderr=output)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/reports"
    finally:
        process.terminate()
        process.wait(15)


@pytest.mark.parametrize(
    ("size", "font", "questions"),
    [
        pytest.param((1024, 768), "", ASKED_AS_USUAL, id="as it comes, 1024x768"),
        pytest.param((1280, 800), '"DejaVu Serif"', ASKED_IN_OTHER_WORDS, id="reworded, serif, 1280x800"),
        pytest.param((1024, 768), '"DejaVu Sans Mono"', ASKED_BACKWARDS, id="reordered, monospaced, 1024x768"),
    ],
)
def test_a_report_is_filed_with_the_values_of_the_passages(
    database: Any, tmp_path: Path, size: tuple[int, int], font: str, questions: str
) -> None:
    """Whatever the wording, order, size and font: one row, with the invented regulations' values and their page."""
    wording = tmp_path / "questions.toml"
    wording.write_text(questions)
    regulations, asked = Regulations(), []
    started = time.monotonic()
    with (
        portal(database.portal_url, wording, font, tmp_path / "portal.log") as url,
        rig.browser(url, tmp_path / "home", *size) as desktop,
    ):
        opened = time.monotonic()
        said, messages = rig.serve(desktop, regulations.search(asked), TASK, folder=tmp_path)
    print(f"started in {opened - started:.1f} s, filed in {time.monotonic() - opened:.1f} s")
    with psycopg.connect(database.audit_url) as connection:
        rows = connection.execute(
            "SELECT report_id, quarter, department, answers, reference FROM portal.submissions"
        ).fetchall()
    place = f"{regulations.document}, page 3"
    assert len(rows) == 1, said
    report_id, quarter, department, answers, reference = rows[0]
    assert (report_id, quarter, department) == ("QI-2025-014", "Q3 2025", "Pharmacy")
    assert answers == {
        "ncpdp_field": f"{regulations.identifier} {regulations.name} ({place})",
        "effective_date": f"{regulations.effective} ({place})",
        "compliance_date": f"{regulations.compliance} ({place})",
        "citation": place,
    }
    # Letters are what OCR confuses; the portal's references differ in their digits.
    assert re.sub(r"\D", "", reference) in re.sub(r"\D", "", said)
    assert len(asked) >= 3
    assert len(messages) // 2 <= 25


def test_a_long_form_is_scrolled_and_lists_are_set(tmp_path: Path) -> None:
    """Another website: labels left of the fields, quarter and year in one list, text areas, the source asked first, far apart."""
    form = webform.Form(
        font="DejaVu Serif", order=("source", "comply", "field", "effect"), spacing=190, textarea=True, labels_left=True
    )
    regulations = Regulations(rule="HHS-7781-F", identifier="640-RS", name="Portion Handed Out")
    with webform.served(form) as url, rig.browser(url, tmp_path / "home") as desktop:
        said, _ = rig.serve(desktop, regulations.search(), TASK, folder=tmp_path)
    place = f"{regulations.document}, page 3"
    assert form.filed == [
        {
            "quarter": "Q3 2025",
            "unit": "Pharmacy",
            "report": "QI-2025-014",
            "field": f"640-RS Portion Handed Out ({place})",
            "effect": f"{regulations.effective} ({place})",
            "comply": f"{regulations.compliance} ({place})",
            "source": place,
            "reference": form.filed[0]["reference"],
        }
    ]
    assert form.filed[0]["reference"] in said
