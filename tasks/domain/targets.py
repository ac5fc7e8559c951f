"""What a press would do: the class of a click, of Return, of the space bar and of a typed text, from what is under the pointer or has
the focus.

Decides from role, name, states, address and surroundings of that element, never from what the model says, by `PRESS_ROWS`: the first
row that matches answers, and what no row knows is refused. It never sees a picture: an element that the page hides from the
accessibility tree is seen as what stands behind it.

Rules
- Text, pictures of a page and its empty area may be clicked: that reads. Text that reads like an irreversible action is asked for.
- A label is pressed for what it labels, text within a control for the control.
- Fields, lists and boxes are input. A box or field in which a person vouches, signs, or proves to be one, and passwords, are never the
  model's.
- A link must lead to the portal's own origins, in the same window.
- A button says what it does: words of irreversible actions are asked for; words that go on, save, look or go back are done; a
  name that says neither cannot be decided and is refused. The form's brief may name its own controls of either kind.
- Return in a field of one line presses the form's button; where none is known, a page that can commit anything is asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tasks.domain.actions import Allow, Ask, Decision, Deny, Element, Kind, Point, Scene, Target
from tasks.domain.control_words import (
    ACCOUNT,
    ADVANCE,
    ASSENT,
    CERTIFY,
    FILES,
    HUMAN_CHECK,
    LOOK,
    SIGNATURE,
    disguised,
    folded,
    says,
)
from tasks.domain.irreversible import irreversible, irreversible_address
from tasks.domain.origins import left, own

# ------------------------------------------------------------------------------------------------------------- roles

TEXT_ROLES = frozenset(
    part.strip()
    for part in """
    heading | paragraph | static | text | section | panel | landmark | article | list | list item | caption | label | image | form |
    grouping | separator | alert | notification | statusbar | comment | footer | header | tool tip | timer | log | figure | mark |
    block quote | content deletion | content insertion | subscript | superscript | table | table cell | table row | row header |
    column header | table column header | table row header | description list | description term | description value |
    document web | document frame | progress bar | level bar | math | dialog | window | frame | tool bar | scroll pane | info bar | filler
    """.split("|")
)
"""Roles of what is read."""
FIELDS = frozenset(
    {"entry", "spin button", "date editor", "combo box", "list box", "slider", "editable text", "autocomplete"}
)
TEXT_FIELDS = frozenset({"entry", "spin button", "date editor", "editable text", "autocomplete"})
CHOICES = frozenset({"list item", "menu item", "option", "tree item"})
CHECKS = frozenset({"check box", "radio button", "toggle button", "switch", "check menu item", "radio menu item"})
BUTTONS = frozenset({"button", "push button", "menu item", "page tab", "tree item", "push button menu", "split button"})
PASSWORD = "password text"
# A link that calls itself a button (<a role=button>) has no address in the accessibility tree.
LINK_TAGS = frozenset({"a", "area"})
FRAMES = frozenset({"internal frame", "document web", "document frame", "dialog", "alert", "landmark"})
# Text of more words than this is prose, and no button in disguise.
SHORT_WORDS = 4
# Surroundings longer than this are more than the one line that a box stands in.
LINE_CHARACTERS = 400
_SIGN = re.compile(r"^[\W_]*\d{0,4}[\W_]*$")


@dataclass(frozen=True, slots=True)
class Press:
    """One press on a target: by a mouse button, or by a key (`button` is "key"). `modifiers` are canonical names."""

    target: Target
    scene: Scene
    button: str = "left"
    count: int = 1
    modifiers: frozenset[str] = frozenset()

    @property
    def element(self) -> Element:
        return self.target.element

    @property
    def role(self) -> str:
        return self.target.element.role

    @property
    def name(self) -> str:
        return " ".join(self.target.element.name.split())

    @property
    def href(self) -> str:
        """Where a link leads; empty for everything else, also for a frame's document."""
        return (self.element.href or "") if self.role not in FRAMES else ""

    @property
    def is_link(self) -> bool:
        return bool(self.href) or self.role == "link"

    @property
    def is_control(self) -> bool:
        """Something that does what its name says when it is pressed."""
        return self.is_link or (self.role in BUTTONS and not self.is_choice)

    @property
    def is_choice(self) -> bool:
        """A line of a list that a form's field offers."""
        offered = any(one.role in ("combo box", "list box") for one in self.target.around)
        return self.role in CHOICES and (offered or self._browsers_choice)

    @property
    def is_native_choice(self) -> bool:
        """The same where the browser makes the list, so that choosing does nothing else; a page's own list may do anything."""
        return self.is_choice and (self.element.tag == "option" or self._browsers_choice)

    @property
    def _browsers_choice(self) -> bool:
        """A line of an open list, which the browser draws over the page; those of its menus cannot be selected."""
        outside = not any(one.role in ("document web", "document frame") for one in self.target.around)
        return bool(self.target.around) and outside and "selectable" in self.element.states

    @property
    def is_field(self) -> bool:
        return self.role in FIELDS or (self.role in TEXT_ROLES and "editable" in self.element.states)

    @property
    def within_page(self) -> bool:
        """A link to a place on the page that is shown."""
        return "#" in self.href and self.href.split("#")[0] == (self.scene.url or "").split("#")[0]


# -------------------------------------------------------------------------------------------------------- conditions


def _foreign_frame(press: Press) -> bool:
    chain = (press.element, *press.target.around)
    # The outermost is the page itself, which `unreadable` judges.
    inner = [one for one in chain if one.role in ("document web", "document frame")][:-1]
    return any(
        not own(one.href, press.scene.origins)
        for one in inner
        if one.href and one.href not in ("about:blank", "about:srcdoc")
    )


def _human_check(press: Press) -> bool:
    # The last one is the page itself: its title says nothing about a part of it.
    frames = [one for one in press.target.around[:-1] if one.role in FRAMES]
    names = [text for one in frames for text in (one.name, one.href or "")]
    if press.is_control or press.is_field or press.role in CHECKS:
        names.append(press.name)
    return any(says(HUMAN_CHECK, name) for name in names)


def _chooses_files(press: Press) -> bool:
    if press.role == "file chooser" or any(one.role == "file chooser" for one in press.target.around):
        return True
    return not press.is_link and (press.is_control or press.role in CHECKS) and says(FILES, press.name) is not None


def _vouches(press: Press) -> bool:
    if press.role not in CHECKS:
        return False
    line = press.target.text if len(press.target.text) <= LINE_CHARACTERS else ""
    return says(CERTIFY, press.name) is not None or says(CERTIFY, line) is not None


def _named(press: Press, names: Iterable[str]) -> bool:
    return press.is_control and folded(press.name) in {folded(name) for name in names}


def _says_commit(press: Press) -> bool:
    acts = press.is_control or (press.is_choice and not press.is_native_choice)
    return acts and not press.within_page and irreversible(press.name) is not None


def _leads_to_commit(press: Press) -> bool:
    return not press.within_page and irreversible_address(press.href) is not None


def _reads_like_commit(press: Press) -> bool:
    words = folded(press.name).split()
    return (
        press.role in TEXT_ROLES
        and not press.is_choice
        and 0 < len(words) <= SHORT_WORDS
        and irreversible(press.name) is not None
    )


def _assents(press: Press) -> bool:
    return press.is_control and not press.is_link and says(ASSENT, press.name) is not None and not _alert(press)


def _alert(press: Press) -> bool:
    """The one button of a message that the browser shows for the page: it can only be taken note of."""
    around = press.target.around
    if not around or any(one.role in ("document web", "document frame") for one in around):
        return False
    buttons = [one for one in around if one.role in BUTTONS]
    return len(buttons) == 1 and buttons[0].box == press.element.box and not any(one.role in FIELDS for one in around)


def _is_sign(name: str) -> bool:
    """A number or a sign that can be seen: a page's number, an arrow."""
    seen = [character for character in name if unicodedata.category(character)[0] in "NPS"]
    return bool(seen) and _SIGN.match(name) is not None


def commits(press: Press) -> bool:
    """Whether a press may do what cannot be taken back."""
    if _named(press, press.scene.changes):
        return False
    return (
        _named(press, press.scene.commits)
        or _says_commit(press)
        or _leads_to_commit(press)
        or _assents(press)
        or _reads_like_commit(press)
    )


# -------------------------------------------------------------------------------------------------------------- rows

ALLOW, ASK, DENY = "allow", "ask", "deny"


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: for a press that `matches`, the class `kind` and the `answer`; `reason` is read by the model, or by the person asked."""

    rule: str
    kind: Kind
    answer: str
    matches: Callable[[Press], bool]
    reason: str = ""

    def decide(self, press: Press) -> Decision:
        if self.answer == ALLOW:
            return Allow(self.rule, self.kind)
        if self.answer == ASK:
            return Ask(self.reason, self.rule, self.kind, press.name)
        return Deny(self.rule, self.reason, self.kind)


COMMITS = "This cannot be taken back once it is done."

PRESS_ROWS: tuple[Row, ...] = (
    Row(
        "leave:frame", Kind.LEAVE, DENY, _foreign_frame,
        "Refused: this part of the page belongs to another site. Use the portal's own controls.",
    ),
    Row(
        "person:check", Kind.UNKNOWN, DENY, _human_check,
        "Refused: this proves that a person is there, and only a person may do it. "
        "Say in one sentence that it is asked for, and end your turn.",
    ),
    Row(
        "person:password", Kind.UNKNOWN, DENY, lambda press: press.role == PASSWORD,
        "Refused: passwords are never typed by you. If the page cannot be used without one, say so in one sentence and end your turn.",
    ),
    Row(
        "files:chooser", Kind.LEAVE, DENY, _chooses_files,
        "Refused: choosing files and printing are not part of this task. Leave this control alone.",
    ),
    Row(
        "click:menu", Kind.LEAVE, DENY, lambda press: press.button == "right",
        "Refused: the browser's menu is not part of this task. Use a left click.",
    ),
    Row(
        "link:scheme", Kind.LEAVE, DENY,
        lambda press: bool(press.href) and not press.href.startswith(("http://", "https://")),
        "Refused: this link is no page of the portal (it runs a script, writes a mail or opens a file). Use another control of the page.",
    ),
    Row(
        "link:leave", Kind.LEAVE, DENY, lambda press: bool(press.href) and not own(press.href, press.scene.origins),
        "Refused: this link leads to another site. Stay in the portal: use its own links and buttons.",
    ),
    Row(
        "link:hidden",
        Kind.LEAVE,
        DENY,
        lambda press: press.is_control and press.element.tag in LINK_TAGS and not press.href and not _named(press, press.scene.changes),
        "Refused: it cannot be told where this link leads. Use another control of the page.",
    ),
    Row(
        "click:new window", Kind.LEAVE, DENY,
        lambda press: press.is_control and (bool(press.modifiers) or press.button == "middle"),
        "Refused: with a key held, or with the middle button, this would open a new tab or window. Use a plain left click.",
    ),
    Row(
        "person:vouch", Kind.COMMIT, DENY, _vouches,
        "Refused: here a person vouches for something, and only a person may do it. "
        "Leave it as it is; if the page cannot be used without it, say so in one sentence and end your turn.",
    ),
    Row(
        "person:sign", Kind.COMMIT, DENY, lambda press: press.is_field and says(SIGNATURE, press.name) is not None,
        "Refused: only a person may sign. If the page cannot be used without it, say so in one sentence and end your turn.",
    ),
    Row(
        "account", Kind.LEAVE, DENY, lambda press: press.is_control and says(ACCOUNT, press.name) is not None,
        "Refused: signing in and out and changing an account are not part of this task.",
    ),
    Row(
        "name:disguised", Kind.UNKNOWN, DENY,
        lambda press: (press.is_control or press.role in CHECKS) and disguised(press.name),
        "Refused: the name of this control is written with look-alike letters. Leave it alone.",
    ),
    Row("brief:change", Kind.CHANGE, ALLOW, lambda press: _named(press, press.scene.changes)),
    Row(
        "commit:once", Kind.COMMIT, DENY, lambda press: press.count > 1 and commits(press),
        "Refused: this cannot be taken back, so it is pressed once only. Use a single left click.",
    ),
    Row(
        "commit:unseen", Kind.COMMIT, DENY, lambda press: not press.scene.complete and commits(press),
        "Refused: the page is too large to be read whole, so what would be filed cannot be checked. "
        "Say so in one sentence and end your turn.",
    ),
    Row("commit:brief", Kind.COMMIT, ASK, lambda press: _named(press, press.scene.commits), COMMITS),
    Row("commit:words", Kind.COMMIT, ASK, _says_commit, COMMITS),
    Row("commit:address", Kind.COMMIT, ASK, _leads_to_commit, COMMITS),
    Row("commit:text", Kind.COMMIT, ASK, _reads_like_commit, COMMITS),
    Row("alert", Kind.NAVIGATE, ALLOW, lambda press: press.is_control and _alert(press)),
    Row("commit:assent", Kind.COMMIT, ASK, _assents, "This says yes to a question."),
    Row(
        "check:nameless", Kind.UNKNOWN, DENY, lambda press: press.role in CHECKS and not folded(press.name),
        "Refused: this box has no name, so it cannot be told what it stands for. Leave it as it is.",
    ),
    Row("check", Kind.INPUT, ALLOW, lambda press: press.role in CHECKS),
    Row("field", Kind.INPUT, ALLOW, lambda press: press.is_field),
    Row("choice", Kind.INPUT, ALLOW, lambda press: press.is_choice),
    Row("link:own", Kind.NAVIGATE, ALLOW, lambda press: bool(press.href)),
    Row(
        "button:opens", Kind.INPUT, ALLOW,
        lambda press: press.is_control and bool(press.element.states & {"expandable", "has-popup"}) and bool(folded(press.name)),
    ),
    Row("button:advance", Kind.CHANGE, ALLOW, lambda press: press.is_control and says(ADVANCE, press.name) is not None),
    Row("button:look", Kind.NAVIGATE, ALLOW, lambda press: press.is_control and says(LOOK, press.name) is not None),
    Row("tab", Kind.NAVIGATE, ALLOW, lambda press: press.role in ("page tab", "tree item") and bool(folded(press.name))),
    Row(
        "button:sign", Kind.NAVIGATE, ALLOW,
        lambda press: press.is_control and _is_sign(press.name),
    ),
    Row("text", Kind.READ, ALLOW, lambda press: press.role in TEXT_ROLES),
    Row(
        "control:unknown", Kind.UNKNOWN, DENY, lambda press: press.is_control,
        "Refused: it cannot be told from its name what this control does. "
        "Use a control that says what it does, such as Continue, Save or Back, or type into the field instead.",
    ),
    Row(
        "role:unknown", Kind.UNKNOWN, DENY, lambda press: True,
        "Refused: what is there cannot be told, so it is not clicked. Use the page's fields, links and buttons, or the Tab key.",
    ),
)  # fmt: skip

NOWHERE = Deny(
    "target:none",
    "Refused: the page does not say what is there, so it is not clicked. Take a screenshot, and click in the middle of what you mean.",
    Kind.UNKNOWN,
)
NO_TREE = Deny(
    "page:unread",
    "Refused: the page does not say what is on it, so nothing is clicked or typed. "
    "Wait a second and take a screenshot; if it stays so, say so in one sentence and end your turn.",
    Kind.UNKNOWN,
)
AWAY = Deny(
    "leave:page",
    "Refused: the browser is no longer in the portal. End your turn and say so in one sentence.",
    Kind.LEAVE,
)
NO_FIELD = Deny(
    "text:no field",
    "Refused: no field that takes text has the focus, so nothing was typed. Click the field first, then type.",
    Kind.UNKNOWN,
)
ONE_FIELD = Deny(
    "text:one field",
    "Refused: the text would go on in another field or press a button. "
    "Type into one field at a time, without tabs, and with a line break only where the field has several lines.",
    Kind.UNKNOWN,
)
IMPLICIT = "Return may send the form, and this cannot be taken back."


# --------------------------------------------------------------------------------------------------------- decisions


def press(
    target: Target | None,
    scene: Scene,
    *,
    button: str = "left",
    count: int = 1,
    modifiers: frozenset[str] = frozenset(),
) -> Decision:
    """The decision for one press; the gravest, where a label stands for several controls."""
    blind = unreadable(scene)
    if blind is not None:
        return blind
    if target is None:
        return NOWHERE
    return gravest(_row(Press(one, scene, button, count, modifiers)) for one in _meant(target, scene))


def unreadable(scene: Scene) -> Deny | None:
    """The refusal of everything on a page that cannot be read, or is none of the portal's."""
    if left(scene.url, scene.origins):
        return AWAY
    return None if scene.elements else NO_TREE


def returned(scene: Scene, *, count: int = 1, modifiers: frozenset[str] = frozenset()) -> Decision:
    """The decision for Return where the focus is."""
    if scene.focused is None:
        return unreadable(scene) or Allow("key:page", Kind.READ)
    at = Press(scene.focused, scene, "key", count, modifiers)
    if at.role in ("combo box", "list box") and "editable" not in at.element.states:
        return press(scene.focused, scene, button="key")
    if at.is_field and "multi-line" in at.element.states:
        return press(scene.focused, scene, button="key")
    if at.is_field or at.role in CHECKS or at.role == PASSWORD:
        return gravest((_reached(at), _implicit(scene, count)))
    # shift+Return on a link opens a window; in a page's text it does nothing.
    return press(scene.focused, scene, button="key", count=count, modifiers=modifiers)


def blank(scene: Scene, *, count: int = 1, modifiers: frozenset[str] = frozenset()) -> Decision:
    """The decision for the space bar where the focus is."""
    if scene.focused is None:
        return unreadable(scene) or Allow("key:page", Kind.READ)
    at = Press(scene.focused, scene, "key", count, modifiers)
    if at.is_link and at.role == "link":
        return unreadable(scene) or Allow("key:page", Kind.READ)
    return press(scene.focused, scene, button="key", count=count, modifiers=frozenset() if at.is_field else modifiers)


def writes(scene: Scene) -> Decision:
    """The decision for a character, or an editing key, where the focus is."""
    blind = unreadable(scene)
    if blind is not None:
        return blind
    if scene.focused is None:
        return NO_FIELD
    at = Press(scene.focused, scene, "key")
    if at.role == PASSWORD or at.is_field or at.is_choice:
        return press(scene.focused, scene, button="key")
    return NO_FIELD


def moves(scene: Scene) -> Decision:
    """The decision for an arrow key and its kind: among radio buttons it chooses, and any of them may be chosen."""
    blind = unreadable(scene)
    if blind is not None:
        return blind
    if scene.focused is None or scene.focused.element.role not in ("radio button", "radio menu item"):
        return Allow("key:moves", Kind.INPUT if scene.focused is not None else Kind.READ)
    others = [
        replace(scene.focused, element=one, text="") for one in scene.elements if one.role == scene.focused.element.role
    ]
    return gravest(_row(Press(one, scene, "key")) for one in (scene.focused, *others))


def typed(text: str, scene: Scene) -> Decision:
    """The decision for a text where the focus is. A line break is the Return key, a tab the Tab key."""
    decision = writes(scene)
    if isinstance(decision, Deny) or scene.focused is None:
        return decision
    at = Press(scene.focused, scene, "key")
    body = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = body.rstrip("\n\t")
    ending = body[len(kept) :]
    if "multi-line" in at.element.states:
        return ONE_FIELD if "\t" in body.rstrip("\t") else decision
    if "\n" in kept or "\t" in kept or ("\n" in ending and "\t" in ending) or ending.count("\n") > 1:
        return ONE_FIELD
    return gravest((decision, returned(scene))) if "\n" in ending else decision


def gravest(decisions: Iterable[Decision]) -> Decision:
    """The one that weighs most: a refusal before a question before a yes, and among equals the graver class."""
    order = list(Kind)

    def weight(decision: Decision) -> tuple[int, int]:
        answer = 2 if isinstance(decision, Deny) else 1 if isinstance(decision, Ask) else 0
        return answer, order.index(Kind(decision.kind)) if decision.kind else 0

    return max(decisions, key=weight)


def _row(one: Press) -> Decision:
    return next(row for row in PRESS_ROWS if row.matches(one)).decide(one)


def _reached(at: Press) -> Decision:
    """What a field or box says of being worked at all: one in which a person signs is not sent either."""
    decision = _row(at)
    return (
        decision
        if isinstance(decision, Deny) and decision.rule in ("leave:frame", "person:check")
        else Allow("field", Kind.INPUT)
    )


def _implicit(scene: Scene, count: int) -> Decision:
    """Return in a field of one line: the form's button."""
    if scene.default is not None:
        return press(scene.default, scene, button="key", count=count)
    blind = unreadable(scene)
    if blind is not None:
        return blind
    for element in scene.elements:
        one = Press(Target(element), scene, "key")
        if one.is_control and commits(one):
            return Ask(IMPLICIT, "commit:return", Kind.COMMIT, one.name)
    return Allow("key:return", Kind.CHANGE)


def _meant(target: Target, scene: Scene) -> Iterator[Target]:
    """What a press on a target works on: the control that text stands in, what a label labels, else the target itself."""
    element = target.element
    if element.role not in TEXT_ROLES or "editable" in element.states:
        yield target
        return
    # What the browser shows over the page has no order of nesting: there only a box tells what stands in what.
    nested = any(one.role in ("document web", "document frame") for one in target.around)
    for index, one in enumerate(target.around):
        control = one.role in BUTTONS or one.role == "link" or one.role in CHECKS
        if control and (nested or _middle_inside(element, one)):
            yield Target(one, target.around[index + 1 :] if nested else target.around, target.text)
            return
    yield target
    if element.role == "label":
        yield from (replace(target, element=one) for one in scene.elements if _labels(element, one))


def _labels(label: Element, other: Element) -> bool:
    if other.role not in FIELDS | CHECKS | BUTTONS | {PASSWORD, "link"}:
        return False
    named = bool(label.name) and " ".join(other.name.split()) == " ".join(label.name.split())
    return named or (other.box.width > 0 and _middle_inside(other, label))


def _middle_inside(inner: Element, outer: Element) -> bool:
    x, y = inner.box.x + inner.box.width // 2, inner.box.y + inner.box.height // 2
    return outer.box.contains(Point(x, y))
