"""What the accessibility tree says of the page, as values: pure, so that it can be asked anything without asking the browser.

The document is in it, and what the browser draws over it for the page (the list of an open combo box, an alert), never the
browser's own bars. Names and texts are the page's: untrusted, and to be cut to one
bounded line before a model reads them (`described`). The value of a password field is never here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.domain.actions import Box, Element, Point, Target

# The character that stands for a child in the text of its parent (AT-SPI Text).
EMBEDDED = "\N{OBJECT REPLACEMENT CHARACTER}"
INLINE_TAGS = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "button", "cite", "code", "data", "dfn", "em", "i", "img", "input", "kbd", "label", "mark",
     "meter", "output", "progress", "q", "s", "samp", "select", "small", "span", "strong", "sub", "sup", "textarea", "time", "u",
     "var"}
)  # fmt: skip
VALUE_ROLES = frozenset({"entry", "combo box", "spin button", "slider", "password text"})
NAME_LENGTH = 80
# Roles that only hold others: without a name they say nothing.
CONTAINERS = frozenset(
    {"section", "panel", "form", "list", "paragraph", "static", "table", "table row", "landmark", "grouping", "article"}
)
NOTHING = "nothing that the page names"
# How much of the words around an element goes with it.
TEXT_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Node:
    """An element with its place: `parent` is an index into the tree's nodes (-1 for the document), `own_text` its AT-SPI text,
    with EMBEDDED where a child stands, None where the role has no text."""

    element: Element
    tag: str
    parent: int
    own_text: str | None


@dataclass(frozen=True, slots=True)
class Tree:
    """One reading of the page. `nodes` are in document order, the document first; `epoch` numbers the readings of a desktop.

    `overlays` are what lies over the document, the later ones on top, each with its own outermost element first. `complete` is
    False when the page had more nodes than are read.
    """

    url: str
    title: str
    busy: bool
    epoch: int
    nodes: tuple[Node, ...]
    overlays: tuple[tuple[Element, ...], ...] = ()
    complete: bool = True

    @property
    def elements(self) -> tuple[Element, ...]:
        """Everything in the document, in its order, without the document itself; then what lies over it."""
        over = (element for overlay in self.overlays for element in overlay)
        return (*(node.element for node in self.nodes[1:]), *over)

    @property
    def failed(self) -> bool:
        """True when the browser shows its own error page instead of the one asked for (nobody answered, no such host)."""
        return any(node.tag == "net-error-card" for node in self.nodes) or self.title in (
            "Problem loading page",
            "Server Not Found",
        )

    @property
    def text(self) -> tuple[str, ...]:
        """The lines of the page, in document order, also those that one would have to scroll to; no empty ones."""
        lines = (squeezed(line) for line in self._text(0).split("\n"))
        return tuple(line for line in lines if line)

    def definition(self, label: str) -> str | None:
        """The text of the <dd> after the <dt> that reads `label`; None if there is none or if there are several that differ."""
        found: set[str] = set()
        for index, node in enumerate(self.nodes):
            if node.tag != "dt" or squeezed(self._text(index)) != squeezed(label):
                continue
            for later in range(index + 1, len(self.nodes)):
                if self.nodes[later].parent != node.parent:
                    continue
                if self.nodes[later].tag == "dd":
                    found.add(squeezed(self._text(later)))
                if self.nodes[later].tag != "dt":
                    break
        return found.pop() if len(found) == 1 else None

    def element_at(self, point: Point) -> Element | None:
        """What is under a point by the boxes alone (`target_at`); None where there is nothing but the document."""
        return element_of(self, self.target_at(point))

    def target_at(self, point: Point) -> Target | None:
        """What is under a point by the boxes alone: in an overlay that covers it, else in the document, the smallest visible box
        (of equals the later, which is painted on top), or the focusable element around it. None where there is nothing.

        Boxes cannot tell what covers what; `Desktop.target_at` asks the browser.
        """
        overlay = self.overlay_at(point)
        if overlay is not None:
            inside = [element for element in overlay if element.box.contains(point)]
            return Target(min(reversed(inside), key=_area), overlay)
        indices = [
            index
            for index, node in enumerate(self.nodes)
            if index and node.element.box.contains(point) and "visible" in node.element.states
        ]
        return (
            self.reached(min(reversed(indices), key=lambda index: _area(self.nodes[index].element)))
            if indices
            else None
        )

    def overlay_at(self, point: Point) -> tuple[Element, ...] | None:
        """The topmost overlay that covers a point."""
        return next((overlay for overlay in reversed(self.overlays) if overlay[0].box.contains(point)), None)

    def reached(self, index: int) -> Target:
        """What a click on this node works on: the focusable element that it is part of (a button around its words), else the node
        itself; the document for the document."""
        current = index
        while current > 0:
            if "focusable" in self.nodes[current].element.states:
                return self.target(current)
            current = self.nodes[current].parent
        return self.target(index)

    def target(self, index: int) -> Target:
        """A node with what it stands in, the nearest first and the document last, and the words of its nearest surroundings."""
        around, current = [], self.nodes[index].parent
        while current >= 0:
            around.append(current)
            current = self.nodes[current].parent
        line = next((one for one in around if self.nodes[one].own_text), None)
        text = squeezed(self._text(line))[:TEXT_LENGTH] if line is not None else ""
        return Target(self.nodes[index].element, tuple(self.nodes[one].element for one in around), text)

    def bare(self, target: Target) -> bool:
        """Whether a target is only ground for others: the document, or a container without a name and without words of its own."""
        if target.element is self.nodes[0].element:
            return True
        if target.element.role not in CONTAINERS or target.element.name or "editable" in target.element.states:
            return False
        own = next((node.own_text for node in self.nodes if node.element is target.element), None)
        return not (own or "").replace(EMBEDDED, "").strip()

    def focused(self) -> Element | None:
        """The element with the keyboard focus, or None when the focus is on no element of the page."""
        found = self.focused_target()
        return found.element if found is not None else None

    def focused_target(self) -> Target | None:
        """The same with what it stands in."""
        for overlay in reversed(self.overlays):
            for element in reversed(overlay):
                if "focused" in element.states:
                    return Target(element, overlay)
        index = self._focused_index()
        return self.target(index) if index is not None else None

    def default_button(self) -> Target | None:
        """The button that Return presses from where the focus is: the default one of the form that the focus is in."""
        current = self._focused_index()
        while current is not None and current > 0 and self.nodes[current].tag != "form":
            current = self.nodes[current].parent
        if not current or current < 0:
            return None
        for index in range(current + 1, len(self.nodes)):
            if "default" in self.nodes[index].element.states and self._within(index, current):
                return self.target(index)
        return None

    def _within(self, index: int, outer: int) -> bool:
        while index > outer:
            index = self.nodes[index].parent
        return index == outer

    def _focused_index(self) -> int | None:
        """The focused node of the document, the innermost; None when it is the document or nothing."""
        return next(
            (index for index in range(len(self.nodes) - 1, 0, -1) if "focused" in self.nodes[index].element.states),
            None,
        )

    def named(self, role: str, name: str) -> Element | None:
        """The first element of that role and exact name."""
        return next((element for element in self.elements if element.role == role and element.name == name), None)

    def text_of(self, index: int) -> str:
        """The text of one node with that of its children in place."""
        return self._text(index)

    def _text(self, index: int, children: Sequence[Sequence[int]] | None = None) -> str:
        """The text of a node with that of its children in place."""
        children = self._children() if children is None else children
        node = self.nodes[index]
        if node.element.role in VALUE_ROLES:
            return node.element.value or ""
        if not node.own_text:
            return "\n".join(self._text(child, children) for child in children[index])
        following = iter(children[index])
        parts: list[str] = []
        for character in node.own_text:
            if character != EMBEDDED:
                parts.append(character)
                continue
            child = next(following, None)
            if child is not None:
                text = self._text(child, children)
                parts.append(text if self.nodes[child].tag in INLINE_TAGS else f"\n{text}\n")
        return "".join(parts)

    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.parent >= 0:
                children[node.parent].append(index)
        return children


def element_of(tree: Tree, target: Target | None) -> Element | None:
    """The element of a target; None for the document and for nothing."""
    return target.element if target is not None and target.element is not tree.nodes[0].element else None


def _area(element: Element) -> int:
    return element.box.width * element.box.height


def squeezed(text: str) -> str:
    """White space runs as one space, none at the ends."""
    return re.sub(r"\s+", " ", text).strip()


def one_line(text: str, length: int = NAME_LENGTH) -> str:
    """Page text as one bounded line: controls, line separators and direction marks become spaces, double quotes single ones (so
    that it cannot leave the quotes it is put in), and what is too long is cut."""
    line = squeezed("".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text))
    line = line.replace('"', "'")
    return line if len(line) <= length else line[: length - 1] + "…"


def described(element: Element | None) -> str:
    """`button "Submit report"`: role and name on one bounded line."""
    if element is None:
        return NOTHING
    name = one_line(element.name)
    if name:
        return f'{element.role} "{name}"'
    return NOTHING if element.role in CONTAINERS else f"{element.role} without a name"


def box_of(x: int, y: int, width: int, height: int) -> Box:
    """AT-SPI extents as a box; what is not rendered has no size."""
    return Box(x, y, width, height) if width > 0 and height > 0 else Box(x, y, 0, 0)
