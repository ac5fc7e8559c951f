"""What the tree says of real pages, and the pure questions that can be put to it."""

from __future__ import annotations

import dataclasses
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.desktop.session import Desktop
from tasks.desktop.tree import NAME_LENGTH, NOTHING, Tree, described, one_line, squeezed
from tasks.domain.actions import Box, Click, Element, Point, PressKeys, Scene, Target, TypeText
from tasks.domain.policy import decide
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

    def buttons() -> list[list[Element]]:
        """The OK buttons of each overlay: while the box opens, there may be two overlays for a moment."""
        return [[element for element in overlay if element.name == "OK"] for overlay in desktop.tree().overlays]

    assert eventually(lambda: list(map(len, buttons())) == [1])
    ((ok,),) = buttons()
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


def form(desktop: Desktop, site: str) -> Tree:
    desktop.open(f"{site}/form")
    return desktop.tree()


def around(target: Target | None) -> list[str]:
    assert target is not None
    return [element.role for element in target.around]


def test_what_is_under_the_pointer_comes_with_what_it_stands_in(desktop: Desktop, site: str) -> None:
    tree = form(desktop, site)
    box = named(desktop, "check box", "I certify")
    tree = desktop.tree()
    target = desktop.target_at(tree, centre(box.box))
    assert target is not None and target.element.name == "I certify that this is so"
    assert around(target)[0] == "label" and around(target)[-1] == "document web" and "form" in around(target)
    assert "I certify that this is so" in target.text


def test_an_empty_place_is_the_document_itself(desktop: Desktop, site: str) -> None:
    tree = form(desktop, site)
    target = desktop.target_at(tree, Point(1000, 740))
    assert target is not None and target.element is tree.nodes[0].element and target.element.href == f"{site}/form"
    assert desktop.element_at(Point(1000, 740)) is None


def test_return_presses_the_default_button_of_the_form_that_has_the_focus(desktop: Desktop, site: str) -> None:
    form(desktop, site)
    for role, name, wanted in (("entry", "Name", "Submit report"), ("entry", "Alone", None)):
        desktop.input.click(centre(named(desktop, role, name).box))
        assert eventually(lambda name=name: (desktop.focused() or ELEMENT).name == name)  # type: ignore[misc]
        default = desktop.tree().default_button()
        assert (default.element.name if default else None) == wanted


def test_a_links_address_is_known_unless_it_calls_itself_a_button(desktop: Desktop, site: str) -> None:
    form(desktop, site)
    assert named(desktop, "link", "Elsewhere").href == "https://elsewhere.example/x"
    assert (named(desktop, "button", "Fields").href, named(desktop, "button", "Fields").tag) == (None, "a")
    assert named(desktop, "link", "Script").href == "javascript:void(0)"
    assert named(desktop, "button", "Wibble").href is None


def test_a_date_field_has_its_parts_as_its_value(desktop: Desktop, site: str) -> None:
    form(desktop, site)
    assert named(desktop, "date editor", "Day").value == "2020-03-24"
    assert named(desktop, "date editor", "Empty").value is None


def test_an_editable_part_of_the_page_has_its_words_as_its_value(desktop: Desktop, site: str) -> None:
    form(desktop, site)
    remarks = next(e for e in desktop.tree().elements if e.name == "Remarks")
    assert remarks.value is not None and squeezed(remarks.value.replace("\n", " ")) in (
        "One two three",
        "two One three",
    )


def test_a_frames_document_carries_its_address(desktop: Desktop, site: str) -> None:
    form(desktop, site)
    frames = [e.href for e in desktop.tree().elements if e.role == "document web"]
    assert frames == ["about:srcdoc", f"{site}/slow"]
    target = desktop.target_at(desktop.tree(), centre(named(desktop, "button", "Framed").box))
    assert "about:srcdoc" in [element.href for element in (target.around if target else ())]


def test_the_policy_decides_on_a_real_page_what_it_decides_on_paper(desktop: Desktop, site: str) -> None:
    """Roles, names, states and addresses as the browser gives them, in the words of the rules."""
    tree = form(desktop, site)
    seen = {}
    for node in tree.nodes[1:]:
        element = node.element
        if "focusable" in element.states and element.box.width and element.role != "document web":
            tree = desktop.tree()
            under = desktop.target_at(tree, centre(element.box))
            scene = Scene(
                1024,
                768,
                Point(0, 0),
                url=tree.url,
                elements=tree.elements,
                under=under,
                origins=(site,),
                complete=tree.complete,
            )
            seen[element.name] = decide(Click("left", 1, centre(element.box)), scene).rule
    wanted = {
        "Name": "field",
        "I certify that this is so": "person:vouch",
        "Notes": "field",
        "Proof Browse… No file selected.": "files:chooser",
        "Calculate": "button:advance",
        "Submit report": "commit:words",
        "Elsewhere": "link:leave",
        "Fields": "link:hidden",
        "Script": "link:scheme",
        "Alone": "field",
        "Wibble": "control:unknown",
        "Remarks": "field",
        "Framed": "control:unknown",
        "Month": "field",
    }
    assert {name: seen.get(name) for name in wanted} == wanted


def test_the_lines_of_an_open_native_list_are_choices(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/fields")
    desktop.input.click(centre(named(desktop, "combo box", "Department").box))
    assert eventually(lambda: bool(desktop.tree().overlays))
    tree = desktop.tree()
    option = next(e for e in tree.overlays[0] if e.name == "Oncology")
    scene = Scene(
        1024, 768, Point(0, 0), url=tree.url, elements=tree.elements, origins=(site,), focused=tree.focused_target()
    )
    under = desktop.target_at(tree, centre(option.box))
    assert decide(Click("left", 1, centre(option.box)), dataclasses.replace(scene, under=under)).rule == "choice"
    assert decide(TypeText("Onc"), scene).rule == "choice" and decide(PressKeys("Return"), scene).rule == "choice"
    desktop.input.click(centre(option.box))
    assert eventually(lambda: desktop.tree().overlays == ())
