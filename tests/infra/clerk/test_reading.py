"""What the clerk sees on a picture: text, fields, buttons, and how alike two texts are."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from infra.offline_model.clerk import ocr
from infra.offline_model.clerk.likeness import canonical, containment, says, similarity
from infra.offline_model.clerk.page import read_page
from tests.infra.clerk.paper import MONO, SANS, SERIF, Button, Entry, Heading, Link, Row, Text, draw


@pytest.mark.parametrize("size", [(1024, 768), (1280, 800)])
@pytest.mark.parametrize("font", [SANS, SERIF, MONO])
def test_fields_have_their_labels_and_buttons_their_captions(font: str, size: tuple[int, int]) -> None:
    """In each font and size: every field, its label over two lines, its content, its kind; and the button."""
    long = "Which of the fields of the transaction, by number and name, has to be sent for a partial fill of a Schedule II drug?"
    page = draw(
        Heading("Attestations"), Entry("Quarter", "Q3", select=True), Entry(long, "813-QT Measured Amount"), Entry("Year"),
        Text("Up to 300 characters."), Button("Save and continue"), size=size, font=font,
    )  # fmt: skip
    seen = read_page(page.png)
    assert [field.select for field in seen.fields] == [True, False, False]
    for field, label in zip(seen.fields, ("Quarter", long, "Year"), strict=True):
        assert similarity(field.label, label) > 0.97
        assert page.holds(label, field.rect.centre)
    assert [canonical(field.content) for field in seen.fields] == [
        canonical(text) for text in ("Q3", "813-QT Measured Amount", "")
    ]
    assert [button.text for button in seen.buttons] == ["Save and continue"]
    assert page.holds("Save and continue", seen.buttons[0].rect.centre)


def test_a_warning_belongs_to_its_field_and_not_to_the_label() -> None:
    """Red text between label and field."""
    seen = read_page(draw(Entry("Report ID", "X", warning="Enter an ID"), Entry("Year", "2025"), Link("Back")).png)
    assert [(field.label, field.warning) for field in seen.fields] == [("Report ID", "Enter an ID"), ("Year", "")]


def test_text_side_by_side_is_not_read_across() -> None:
    """A value next to a long name stays one stretch of text."""
    name = "By what date must covered entities comply with the rule that this report is about?"
    seen = read_page(
        draw(Row(name, "November 5, 2031 (hhs-7781-f-final-rule-2031.pdf, page 3)"), Row("Year", "2031")).png
    )
    assert any(says("November 5, 2031 (hhs-7781-f-final-rule-2031.pdf, page 3)", block) for block in seen.blocks)
    assert not seen.fields


def test_each_picture_is_recognised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look at the same picture starts no program."""
    runs: list[Any] = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: (runs.append(args), run(*args, **kwargs))[1])
    page = draw(Heading("A page that no other test draws"), Entry("Name", "Somebody"))
    first = read_page(page.png)
    assert len(runs) == 1
    assert read_page(page.png) == first
    assert len(runs) == 1


def test_a_missing_program_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is broken, not the page: an error that names the package."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ocr.RecognitionError, match="tesseract-ocr"):
        read_page(draw(Heading("Another page of this test alone")).png)


def test_misread_letters_do_not_make_another_text() -> None:
    """What recognition swaps is the same; what it does not swap is not."""
    assert canonical("QI-2O25-Ol4") == canonical("QI-2025-014")
    assert similarity("RCT-1234", "RCT-7698") < 0.8
    assert containment("March", "in the month of March") == 1.0
    assert containment("November", "in the month of March") < 0.7


@pytest.mark.parametrize("other", ["November 5, 2032", "November 6, 2031", "December 5, 2031"])
def test_another_date_is_not_excused_by_the_same_source(other: str) -> None:
    """One digit or the month: the value is told from its source."""
    source = "(hhs-7781-f-final-rule-2031.pdf, page 3)"
    assert says(f"November 5, 2031 {source}", f"Deadline November 5, 2O31 {source}")
    assert says(f"November 5, 2031 {source}", f"Deadline Novemher 5, 2031 {source}")
    assert not says(f"November 5, 2031 {source}", f"Deadline {other} {source}")
