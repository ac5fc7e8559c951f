"""The accessibility tree of the browser, read over plain D-Bus (AT-SPI2), without GObject.

Calls are pipelined: one level of the tree costs one round trip, whatever its width. Numbers and names of states follow
at-spi2-core's atspi-constants.h, roles are its role names (with the later spelling where it changed).

Rules
- Nothing of a password field leaves this module: no value, no text, no children.
- A node that goes away while it is read is left out; a tree that is not there at all is a TemporaryError.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from tasks.desktop.tree import EMBEDDED, VALUE_ROLES, Node, Tree, box_of, squeezed
from tasks.domain.actions import Element, Point, Target
from tasks.domain.errors import TemporaryError

ACCESSIBLE = "org.a11y.atspi.Accessible"
COMPONENT = "org.a11y.atspi.Component"
TEXT = "org.a11y.atspi.Text"
DOCUMENT = "org.a11y.atspi.Document"
HYPERLINK = "org.a11y.atspi.Hyperlink"
PROPERTIES = "org.freedesktop.DBus.Properties"
REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
RELATION_EMBEDS = 13
SCREEN_COORDINATES = 0

STATES = {
    1: "active", 3: "busy", 4: "checked", 5: "collapsed", 7: "editable", 8: "enabled", 9: "expandable", 10: "expanded",
    11: "focusable", 12: "focused", 16: "modal", 17: "multi-line", 20: "pressed", 22: "selectable", 23: "selected",
    24: "sensitive", 25: "showing", 26: "single-line", 30: "visible", 32: "indeterminate", 33: "required",
    36: "invalid-entry", 39: "default", 40: "visited", 41: "checkable", 42: "has-popup", 43: "read-only",
}  # fmt: skip
ROLE_SPELLINGS = {"push button": "button"}
PASSWORD = "password text"
DOCUMENT_ROLE = "document web"
LINK_TAGS = frozenset({"a", "area"})
DATE_EDITOR, DATE_PARTS = "date editor", ("Year", "Month", "Day")
# Roles whose text serves as their name where the page gave none.
NAMED_BY_TEXT = frozenset({"paragraph", "static", "list item", "table cell", "section", "description value", "label"})

# What a browser window is made of, down to the document.
WINDOW_ROLES = frozenset({"frame", "panel", "scroll pane", "internal frame"})
WINDOW_DEPTH = 6
# The browser's own hit test, which may need a moment after a load.
HIT_ATTEMPTS, HIT_SECONDS, MOST_HITS = 3, 0.05, 20
REPLY_SECONDS = 5.0
MOST_NODES = 4000
PIPELINE = 1000

Reference = tuple[str, str]
"""Bus name and object path of one accessible object."""


@dataclass(frozen=True, slots=True)
class DocumentState:
    """The document in the window: `reference` is another one after every load, `url` is empty while one is being made."""

    reference: Reference
    url: str
    title: str
    busy: bool


class Accessibility:
    """A connection to the accessibility bus behind a session bus. Not for use from two threads at once."""

    def __init__(self, session_bus: str) -> None:
        """Raises TemporaryError when the accessibility bus does not answer."""
        try:
            with open_dbus_connection(bus=session_bus) as session:
                request = new_method_call(DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus"), "GetAddress")
                (address,) = session.send_and_get_reply(request, timeout=REPLY_SECONDS).body
            self._connection: DBusConnection = open_dbus_connection(bus=address)
        except (OSError, ValueError) as error:
            raise TemporaryError(
                f"The accessibility bus does not answer ({error!r}). Start the desktop again."
            ) from error
        self._epoch = 0
        self._indices: dict[Reference, int] = {}

    def close(self) -> None:
        self._connection.close()

    def document(self) -> DocumentState | None:
        """The document that the browser's window shows; None while there is none, as in the middle of a load."""
        frame = self._frame()
        reference = self._embedded(frame) if frame is not None else None
        if reference is None:
            return None
        attributes, states, name = self._calls(
            [
                _call(reference, DOCUMENT, "GetAttributes"),
                _call(reference, ACCESSIBLE, "GetState"),
                _call(reference, PROPERTIES, "Get", "ss", (ACCESSIBLE, "Name")),
            ]
        )
        if attributes is None or states is None or name is None:
            return None
        return DocumentState(reference, attributes[0].get("DocURL", ""), name[0][1], "busy" in _states(states[0]))

    def read(self) -> Tree | None:
        """The whole document as it is now; None while there is no document."""
        document = self.document()
        if document is None:
            return None
        self._epoch += 1
        raw, complete = self._nodes(document.reference)
        nodes = _finished(raw, self._epoch)
        if not nodes:
            return None
        self._indices = {node.reference: index for index, node in enumerate(raw)}
        overlays = tuple(
            tuple(node.element for node in _finished(self._nodes(root)[0], self._epoch))
            for root in self._overlay_roots(document.reference)
        )
        return Tree(
            url=document.url,
            title=document.title,
            busy=document.busy,
            epoch=self._epoch,
            nodes=nodes,
            overlays=tuple(overlay for overlay in overlays if overlay),
            complete=complete,
        )

    def target_at(self, tree: Tree, point: Point) -> Target | None:
        """What a click there would reach: an overlay, else what the browser's own hit test says (it knows what is painted on top
        of what), else, where it says nothing, the boxes. The document where nothing stands there, None where nobody can say. `tree`
        must be the last one read."""
        document = self.document()
        if document is None or tree.epoch != self._epoch or tree.overlay_at(point) is not None:
            return tree.target_at(point)
        for attempt in range(HIT_ATTEMPTS):
            index = self._hit(document.reference, point)
            if index is not None:
                return tree.reached(index)
            # Soon after a load the browser does not know yet what is where.
            if attempt + 1 < HIT_ATTEMPTS:
                time.sleep(HIT_SECONDS)
        return tree.target_at(point)

    def _hit(self, document: Reference, point: Point) -> int | None:
        """The index of the innermost node that the browser finds there (0: the document itself), None if it finds nothing."""
        found: int | None = None
        current = document
        for _ in range(MOST_HITS):
            where = (point.x, point.y, SCREEN_COORDINATES)
            (answer,) = self._calls([_call(current, COMPONENT, "GetAccessibleAtPoint", "iiu", where)])
            child = tuple(answer[0]) if answer is not None else current
            if child not in self._indices:
                return found
            found = self._indices[child]
            if child == current:
                return found
            current = child
        return found

    def _overlay_roots(self, document: Reference) -> list[Reference]:
        """What the browser itself draws over the page, such as the list of an open combo box or an alert. Its bars and buttons have
        no place on a kiosk's screen and are left out."""
        frame = self._frame()
        roots: list[Reference] = []
        level = [frame] if frame is not None else []
        for _ in range(WINDOW_DEPTH):
            children = self._calls([_call(reference, ACCESSIBLE, "GetChildren") for reference in level])
            candidates = [
                tuple(child) for answer in children if answer for child in answer[0] if tuple(child) != document
            ]
            answers = self._calls(
                [
                    message
                    for reference in candidates
                    for message in (
                        _call(reference, ACCESSIBLE, "GetRoleName"),
                        _call(reference, ACCESSIBLE, "GetState"),
                        _call(reference, COMPONENT, "GetExtents", "u", (SCREEN_COORDINATES,)),
                    )
                ]
            )
            level = []
            for position, reference in enumerate(candidates):
                role, states, extents = answers[3 * position : 3 * position + 3]
                if role is None or states is None or extents is None or "showing" not in _states(states[0]):
                    continue
                x, y, width, height = extents[0]
                if role[0] == "combo box":
                    level.append(reference)  # the browser's stand-in for an open <select>: no box, but its list has one
                    continue
                if width <= 0 or height <= 0 or x + width <= 0 or y + height <= 0:
                    continue
                if role[0] in WINDOW_ROLES:
                    level.append(reference)
                elif role[0] != DOCUMENT_ROLE:  # another tab's document, kept ready behind this one
                    roots.append(reference)
        return roots

    def _frame(self) -> Reference | None:
        """The browser's window: the active one, else the last that was opened."""
        (applications,) = self._calls([_call(REGISTRY, ACCESSIBLE, "GetChildren")])
        if not applications:
            return None
        windows = self._calls([_call(tuple(one), ACCESSIBLE, "GetChildren") for one in applications[0]])
        frames = [tuple(frame) for answer in windows if answer for frame in answer[0]]
        if len(frames) < 2:
            return frames[0] if frames else None
        states = self._calls([_call(frame, ACCESSIBLE, "GetState") for frame in frames])
        active = [frame for frame, state in zip(frames, states, strict=True) if state and "active" in _states(state[0])]
        return (active or frames)[-1]

    def _embedded(self, frame: Reference) -> Reference | None:
        (relations,) = self._calls([_call(frame, ACCESSIBLE, "GetRelationSet")])
        if not relations:
            return None
        return next((tuple(targets[0]) for kind, targets in relations[0] if kind == RELATION_EMBEDS and targets), None)

    def _nodes(self, document: Reference) -> tuple[list[_Raw], bool]:
        """Breadth first over the wire, then put in document order."""
        raw: dict[Reference, _Raw] = {}
        level: list[Reference] = [document]
        complete = True
        while level:
            if len(raw) + len(level) > MOST_NODES:
                complete = False
                level = level[: MOST_NODES - len(raw)]
            answers = self._calls([message for reference in level for message in _questions(reference)])
            following: list[Reference] = []
            for position, reference in enumerate(level):
                node = _raw(reference, answers[position * QUESTIONS : (position + 1) * QUESTIONS])
                if node is None:
                    continue
                raw[reference] = node
                following += [child for child in node.children if child not in raw]
            level = list(dict.fromkeys(following))
        # An <a> of another role has no address over ATK in most cases; where it has one, it counts.
        links = [node for node in raw.values() if node.role == "link" or node.tag in LINK_TAGS]
        for node, answer in zip(
            links, self._calls([_call(link.reference, HYPERLINK, "GetURI", "i", (0,)) for link in links]), strict=True
        ):
            node.href = (answer[0] or None) if answer else None
        inner = [node for node in raw.values() if node.role == DOCUMENT_ROLE]
        for node, answer in zip(
            inner, self._calls([_call(one.reference, DOCUMENT, "GetAttributes") for one in inner]), strict=True
        ):
            node.href = answer[0].get("DocURL", "") if answer else None
        return _ordered(raw, document), complete

    def _calls(self, messages: Sequence[Message]) -> list[tuple[Any, ...] | None]:
        """The bodies of the answers in the order of the calls; None for an error (no such interface, object gone).

        Raises TemporaryError when the browser stops answering.
        """
        answers: list[tuple[Any, ...] | None] = []
        try:
            for start in range(0, len(messages), PIPELINE):
                answers += self._pipelined(messages[start : start + PIPELINE])
        except (OSError, TimeoutError) as error:
            raise TemporaryError(
                f"The browser's accessibility tree does not answer ({error!r}): the browser hangs or is gone."
            ) from error
        return answers

    def _pipelined(self, messages: Sequence[Message]) -> list[tuple[Any, ...] | None]:
        waiting: dict[int, int] = {}
        for position, message in enumerate(messages):
            serial = next(self._connection.outgoing_serial)
            waiting[serial] = position
            self._connection.send(message, serial=serial)
        answers: list[tuple[Any, ...] | None] = [None] * len(messages)
        deadline = time.monotonic() + REPLY_SECONDS
        while waiting:
            reply = self._connection.receive(timeout=max(deadline - time.monotonic(), 0.0))
            position = waiting.pop(reply.header.fields.get(HeaderFields.reply_serial, 0), -1)
            if position >= 0 and reply.header.message_type == MessageType.method_return:
                answers[position] = reply.body
        return answers


@dataclass(slots=True)
class _Raw:
    """What the wire said of one object."""

    reference: Reference
    role: str
    name: str
    states: frozenset[str]
    tag: str
    extents: tuple[int, int, int, int]
    text: str | None
    children: list[Reference]
    href: str | None = None
    parent: int = -1


QUESTIONS = 7


def _questions(reference: Reference) -> list[Message]:
    return [
        _call(reference, ACCESSIBLE, "GetRoleName"),
        _call(reference, PROPERTIES, "Get", "ss", (ACCESSIBLE, "Name")),
        _call(reference, ACCESSIBLE, "GetState"),
        _call(reference, ACCESSIBLE, "GetAttributes"),
        _call(reference, COMPONENT, "GetExtents", "u", (SCREEN_COORDINATES,)),
        _call(reference, TEXT, "GetText", "ii", (0, -1)),
        _call(reference, ACCESSIBLE, "GetChildren"),
    ]


def _raw(reference: Reference, answers: Sequence[tuple[Any, ...] | None]) -> _Raw | None:
    role, name, states, attributes, extents, text, children = answers
    if role is None or states is None:
        return None
    role_name = ROLE_SPELLINGS.get(role[0], role[0])
    secret = role_name == PASSWORD
    return _Raw(
        reference=reference,
        role=role_name,
        name=name[0][1] if name else "",
        states=_states(states[0]),
        tag=attributes[0].get("tag", "") if attributes else "",
        extents=tuple(extents[0]) if extents else (0, 0, 0, 0),
        text=None if secret or text is None else _plain(text[0]),
        children=[] if secret or not children else [tuple(child) for child in children[0]],
    )


def _ordered(raw: dict[Reference, _Raw], document: Reference) -> list[_Raw]:
    """Depth first, each node with the index of its parent; nothing twice."""
    ordered: list[_Raw] = []
    seen: set[Reference] = set()
    stack: list[tuple[Reference, int]] = [(document, -1)]
    while stack:
        reference, parent = stack.pop()
        if reference in seen or reference not in raw:
            continue
        seen.add(reference)
        node = raw[reference]
        node.parent = parent
        index = len(ordered)
        ordered.append(node)
        stack += [(child, index) for child in reversed(node.children)]
    return ordered


def _finished(raw: Sequence[_Raw], epoch: int) -> tuple[Node, ...]:
    selected: dict[int, str] = {}
    for node in raw:
        # A closed combo box keeps its value in its selected option, two levels down.
        if "selected" in node.states and node.parent >= 0:
            menu = node.parent
            for owner in (menu, raw[menu].parent):
                if owner >= 0 and raw[owner].role == "combo box":
                    selected.setdefault(owner, node.name)
    dates = _dates(raw)
    nodes = []
    for index, node in enumerate(raw):
        value = dates.get(index)
        if node.role in VALUE_ROLES and node.role != PASSWORD:
            value = selected.get(index, node.text)
        elif "editable" in node.states and node.role != PASSWORD and value is None and node.role != DATE_EDITOR:
            value = _content(raw, index)
        name = node.name
        if not name and node.role in NAMED_BY_TEXT and node.text:
            name = squeezed(node.text.replace("\N{OBJECT REPLACEMENT CHARACTER}", " "))
        element = Element(node.role, name, box_of(*node.extents), value, node.states, epoch, node.href, node.tag)
        nodes.append(Node(element, node.tag, node.parent, node.text))
    return tuple(nodes)


def _content(raw: Sequence[_Raw], index: int) -> str:
    """The words of an editable part of a page, with those of what stands in it."""
    inside, lines = {index}, [raw[index].text or ""]
    for position in range(index + 1, len(raw)):
        if raw[position].parent not in inside:
            break
        inside.add(position)
        lines.append(raw[position].text or "")
    return "\n".join(line for line in (squeezed(text.replace(EMBEDDED, " ")) for text in lines) if line)


def _dates(raw: Sequence[_Raw]) -> dict[int, str]:
    """The values of native date fields, which have none of their own: their parts as an ISO date, once all are there."""
    parts: dict[int, dict[str, str]] = {}
    for node in raw:
        if node.parent >= 0 and raw[node.parent].role == DATE_EDITOR and node.name in DATE_PARTS:
            parts.setdefault(node.parent, {})[node.name] = (node.text or "").strip()
    return {
        index: "-".join(found[part] for part in DATE_PARTS)
        for index, found in parts.items()
        if all(found.get(part, "").isdigit() for part in DATE_PARTS)
    }


def _states(words: Sequence[int]) -> frozenset[str]:
    bits = words[0] | (words[1] << 32 if len(words) > 1 else 0)
    return frozenset(name for number, name in STATES.items() if bits >> number & 1)


def _call(
    reference: Reference, interface: str, method: str, signature: str | None = None, body: tuple[Any, ...] = ()
) -> Message:
    bus_name, path = reference
    return new_method_call(DBusAddress(path, bus_name, interface), method, signature, body)


def _plain(text: str) -> str:
    """Firefox's ATK side puts U+FEFF after each character beyond the basic plane, to keep its offsets; the page has none there."""
    return re.sub("([\U00010000-\U0010ffff])\ufeff", r"\1", text)
