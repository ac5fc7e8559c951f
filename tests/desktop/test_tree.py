"""What the tree says of real pages, and the pure questions that can be put to it."""

from __future__ import annotations

import dataclasses
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.desktop.session import Desktop
from tasks.desktop.tree import NAME_LENGTH, NOTHING, Tree, described, one_line
from tasks.domain.actions import Box, Element, Point
from tests.desktop.fixtures import centre, eventually, named


@pytest.fixture
def receipt(desktop: Desktop, site: str) -> Tree:
    desktop.open(f"{site}/receipt")
    return desktop.tree()


def test_a_receipt_is_read_by_its_labels(receipt: Tree) -> None:
    assert receipt.definition("Receipt reference") == "R-2025-001"
    assert receipt.definition("Report  ID") == "QI-2025-014"


def test_a_label_that_is_not_there_or_says_two_things_has_no_definition(receipt: Tree) -> None:
    assert receipt.definition("Report") is None
    assert receipt.definition("Twice") is None


def test_the_text_is_in_order_with_links_in_place_and_without_what_is_hidden(receipt: Tree) -> None:
    assert receipt.text[0] == "Filed"
    assert "A paragraph with a link inside." in receipt.text
    assert receipt.text[-1] == "Below the fold"
    assert not any("Hidden" in line for line in receipt.text)


def test_it_tells_address_title_and_that_loading_is_over(receipt: Tree, site: str) -> None:
    assert (receipt.url, receipt.title, receipt.busy, receipt.complete) == (f"{site}/receipt", "Receipt", False, True)
    assert not receipt.failed


def test_each_reading_has_a_later_number_and_its_elements_carry_it(desktop: Desktop) -> None:
    first, second = desktop.tree(), desktop.tree()
    assert second.epoch > first.epoch
    assert {element.epoch for element in second.elements} == {second.epoch}


def test_only_the_document_is_in_it(receipt: Tree) -> None:
    assert all(element.box.y >= 0 or element.box.height == 0 for element in receipt.elements)
    assert not any(element.role in ("tool bar", "page tab", "frame") for element in receipt.elements)
    assert receipt.overlays == ()


def test_fields_have_values_states_and_links_their_address(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/fields")
    department = named(desktop, "combo box", "Department")
    assert department.value == "Pharmacy"
    assert "checked" in named(desktop, "check box", "Agree").states
    assert {"editable", "multi-line"} <= named(desktop, "entry", "Notes").states
    assert named(desktop, "link", "See the receipt").href == f"{site}/receipt"


def test_a_password_leaves_no_trace(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/fields")
    secret = named(desktop, "password text", "Secret")
    assert secret.value is None
    everything = repr(dataclasses.asdict(desktop.tree()))
    assert "hunter2" not in everything and "●" not in everything


def test_the_focus_is_followed(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/fields")
    assert desktop.focused() is None
    desktop.input.click(centre(named(desktop, "entry", "Upper").box))

    def focus_is_there() -> bool:
        focused = desktop.focused()
        return focused is not None and focused.name == "Upper"

    assert eventually(focus_is_there)


def test_boxes_are_screen_pixels(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/events")
    assert named(desktop, "button", "Submit report").box == Box(20, 20, 200, 40)


def test_an_open_list_is_an_overlay_with_real_boxes(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/fields")
    desktop.input.click(centre(named(desktop, "combo box", "Department").box))
    assert eventually(lambda: bool(desktop.tree().overlays))
    options = {element.name: element for element in desktop.tree().overlays[0] if element.role == "menu item"}
    assert list(options) == ["Pharmacy", "Cardiology", "Oncology"]
    under = desktop.element_at(centre(options["Oncology"].box))
    assert under is not None and (under.role, under.name) == ("menu item", "Oncology")
    desktop.input.click(centre(options["Oncology"].box))
    assert eventually(lambda: named(desktop, "combo box", "Department").value == "Oncology")
    assert eventually(lambda: desktop.tree().overlays == ())


def test_an_alert_is_an_overlay_that_covers_the_page(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/links")
    desktop.input.click(Point(40, 150))
    assert eventually(lambda: any(element.name == "OK" for element in desktop.tree().elements))
    (alert,) = desktop.tree().overlays
    ok = next(element for element in alert if element.name == "OK")
    under = desktop.element_at(centre(ok.box))
    assert under is not None and (under.role, under.name) == ("button", "OK")
    desktop.input.click(centre(ok.box))
    assert eventually(lambda: desktop.tree().overlays == ())


def test_what_is_painted_on_top_is_what_is_under_the_pointer(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/covered")

    def under(x: int, y: int) -> tuple[str, str] | None:
        element = desktop.element_at(Point(x, y))
        return (element.role, element.name) if element is not None else None

    assert under(100, 100) == ("dialog", "Cover")
    assert under(100, 500) == ("button", "Big words")
    assert under(530, 30) == ("button", "Framed")
    assert under(900, 700) is None


ELEMENT = Element("button", "", Box(0, 0, 1, 1))


def test_a_description_is_role_and_name() -> None:
    assert described(dataclasses.replace(ELEMENT, name="Submit report")) == 'button "Submit report"'
    assert described(dataclasses.replace(ELEMENT, role="entry")) == "entry without a name"
    assert described(dataclasses.replace(ELEMENT, role="section")) == described(None) == NOTHING


@given(st.text(max_size=300))
def test_page_text_stays_on_one_line_in_its_quotes(text: str) -> None:
    line = one_line(text)
    assert len(line) <= NAME_LENGTH and '"' not in line
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in line)
