"""The text fields of a page as the accessibility tree gives them: which there are, and which one has the focus.

Decides what counts as a field whose content a person writes, and by what it is known again after the page has been left. It never decides
whether a content may stand (grounding.py).

Rules
- A field is known by the page's address without query and fragment, its role, its name, and its place among fields of that name.
- A choice from a list that the page offers is no text. A native date field is one field, whatever it is made of.
- A field without a value that can be read (a password) is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.domain.actions import Element, Scene
from tasks.domain.targets import TEXT_FIELDS, TEXT_ROLES

DATE = "date editor"
ROLES = TEXT_ROLES | {"combo box"}


@dataclass(frozen=True, slots=True)
class Key:
    """`number` counts from 0 among the fields of that role and name on that page."""

    page: str
    role: str
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Field:
    key: Key
    value: str
    element: Element


def page_of(scene: Scene) -> str:
    """The address of the scene's page, without query and fragment."""
    return (scene.url or "").split("#")[0].split("?")[0]


def text_fields(scene: Scene) -> tuple[Field, ...]:
    """The text fields of the page in its order, with their contents."""
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for element in _written(scene):
        name = " ".join(element.name.split()) if element.role in TEXT_FIELDS else ""
        number = numbers.get((element.role, name), 0)
        numbers[element.role, name] = number + 1
        found.append(Field(Key(page_of(scene), element.role, name, number), element.value or "", element))
    return tuple(found)


def focused_field(scene: Scene) -> Key | None:
    """The text field that a key would change; for a part of a date field the whole of it."""
    if scene.focused is None:
        return None
    element = scene.focused.element
    for field in text_fields(scene):
        if field.element == element or (field.element.role == DATE and _inside(element, field.element)):
            return field.key
    return None


def in_date(scene: Scene) -> bool:
    """Whether the focus is on a part of a native date field, into which bare digits are typed."""
    key = focused_field(scene)
    return key is not None and key.role == DATE


def _written(scene: Scene) -> Iterator[Element]:
    dates = [element for element in scene.elements if element.role == DATE]
    for element in scene.elements:
        if any(_inside(element, date) for date in dates if date is not element):
            continue
        # What stands on the page as text, and a list to choose from, is written into only where it can be edited.
        readable = element.role == DATE or element.value is not None
        written = element.role in TEXT_FIELDS or (element.role in ROLES and "editable" in element.states)
        if readable and written:
            yield element


def _inside(inner: Element, outer: Element) -> bool:
    one, other = inner.box, outer.box
    return (
        one.width > 0
        and other.x <= one.x
        and other.y <= one.y
        and one.x + one.width <= other.x + other.width
        and one.y + one.height <= other.y + other.height
    )
