"""The model's hands and eyes: the SDK's computer toolset on a Desktop, all 17 members.

Decides nothing about whether an action may be done: it asks `decide` and obeys. What it does decide is the words that the model
reads, and they come from four places only: the SDK's acknowledgments, the fixed phrases of this room, a denial's own fixed phrase,
and role, name and text of page elements, cut to one bounded line.

Rules
- One call: build the action (requests.py), ask the policy about it and the scene, write the journal, act, wait until the page has
  settled, complete the journal with the rule that decided. A call that is refused or denied is written as well.
- The browser stays on `origins`: its address is looked at before each call, after each action and before each picture, because a
  redirect or a script asks nobody. Once it has left, the run ends (RunStopped), and the model sees nothing of the other site.
- An exception's own text never reaches the model. The model gets a fixed phrase, the journal gets the exception in `detail`.
- A stop (RunStopped) is let through at once, with nothing left pressed. A desktop that has died is such a stop: the sandbox being
  broken is no answer to a model.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from anthropic.tools import ToolError, ToolsetUsageError
from anthropic.tools.computer import (
    BetaAbstractComputerToolset20260801,
    BetaComputerConfirmContext,
    BetaComputerCursorPositionResult,
    BetaComputerMemberResult,
    BetaScreenshotResult,
    BetaToolsetCallContext,
)

from tasks.desktop.capture import drawn, enlarged, png
from tasks.desktop.input import wait
from tasks.desktop.keys import parse_combination, parse_modifiers
from tasks.desktop.requests import RefusalError, to_action
from tasks.desktop.session import Desktop
from tasks.desktop.tree import Tree, described, element_of, one_line
from tasks.domain.actions import (
    Action,
    Allow,
    Ask,
    Click,
    CursorPosition,
    Decision,
    Deny,
    Drag,
    Element,
    HoldKeys,
    MouseDown,
    MouseUp,
    MoveMouse,
    Point,
    PressKeys,
    Scene,
    Screenshot,
    Scroll,
    Target,
    TypeText,
    Wait,
    Zoom,
    noted,
)
from tasks.domain.errors import RunStopped, TemporaryError
from tasks.domain.origins import left
from tasks.domain.steps import Call, Journal, StepResult

log = logging.getLogger(__name__)

FAILED = "The action could not be carried out. Take a screenshot to see where things stand."
NOT_SEEN = "The screen could not be captured just now. Wait a second and take a screenshot again."
NOT_READ = "The page could not be read just now, so nothing was done. Wait a second and try again."
NOT_APPROVED = "Not done: this action needs a person's approval, and nobody can give it in this run."
NOTHING_FOCUSED = "Nothing that takes text has the keyboard focus; the text may have gone nowhere."
NOT_CHECKED = "The text was sent, but the field could not be read back. Take a screenshot to see it."
NOT_CHECKED_FOCUS = "Where the focus is could not be read. Take a screenshot to see it."
PASSWORD_FIELD = "The focus is on a password field, which is never read back."
LOST = "desktop lost"
LEFT = "left the portal"
NOT_WRITTEN = "journal failed"

# So many calls in a row that fail for no fault of theirs: the browser hangs.
MOST_BROKEN = 5
VALUE_LENGTH = 200
READ_BACK_SECONDS = 1.0
POLL_SECONDS = 0.05
# Acting on these needs no look at the page.
WITHOUT_SCENE = (Screenshot, Zoom, CursorPosition, Wait)

T = TypeVar("T", bound=Action)
W = TypeVar("W")


class ComputerToolset(BetaAbstractComputerToolset20260801):
    """One toolset for one desktop and one run. `decide(action, scene)` is asked before every call, and anything but Allow stops
    it; `origins` are the addresses that the browser may be on; `check` raises RunStopped when the run must end and is called before
    each call and while anything takes time.

    `configs` and `tool_configs` are the SDK's.
    """

    def __init__(
        self,
        desktop: Desktop,
        *,
        decide: Callable[[Action, Scene], Decision],
        origins: Sequence[str],
        journal: Journal,
        check: Callable[[], None],
        configs: Any = None,
        tool_configs: Any = None,
    ) -> None:
        super().__init__(configs=configs, confirm=self._confirm, tool_configs=tool_configs)
        self._desktop = desktop
        self._decide = decide
        self._origins = tuple(origins)
        self._journal = journal
        self._check = check
        self._action: Action | None = None
        self._tree: Tree | None = None
        self._target: Target | None = None
        self._decision: Decision = Allow()
        self._pointer = Point(0, 0)
        self._picture: str | None = None
        self._broken = 0
        desktop.input.release_all()

    def close(self) -> None:
        """The SDK's end of a toolset; whatever a call left down, such as the left button, is released."""
        super().close()
        if self._desktop.lost() is None:
            self._desktop.input.release_all()

    # ---- the gate and the record

    def _confirm(self, context: BetaComputerConfirmContext) -> bool:
        """Ask the policy. True lets the call run; a refusal is a ToolError with a fixed phrase, never False."""
        self._check()
        self._action = self._tree = self._target = None
        call = _call(context, context.member, context.input.to_dict())
        try:
            action = self._prepared(call)
            decision = self._decide(action, self._scene(action))
        except Exception as error:
            raise self._refused(call, "failed", self._phrase(error, NOT_READ), _detail(error)) from None
        if isinstance(decision, Deny):
            raise self._refused(call, "denied", decision.reason, noted(decision))
        if isinstance(decision, Ask):
            raise self._refused(
                call, "denied", NOT_APPROVED, f"{noted(decision)}, nobody approved it: {decision.reason}"
            )
        if not isinstance(decision, Allow):
            raise self._refused(call, "failed", FAILED, f"the policy answered {decision!r}")
        self._action, self._decision = action, decision
        return True

    def _prepared(self, call: Call) -> Action:
        width, height = self._desktop.options.width, self._desktop.options.height
        action = to_action(call.tool.removeprefix("computer."), call.arguments, width, height)
        self._pointer = self._desktop.input.pointer()
        if isinstance(action, WITHOUT_SCENE):
            self._stayed()
        else:
            self._tree = self._desktop.tree()
            self._stayed(self._tree.url)
        return action

    def _scene(self, action: Action) -> Scene:
        width, height, tree = self._desktop.options.width, self._desktop.options.height, self._tree
        if tree is None:
            return Scene(width, height, self._pointer, origins=self._origins)
        end = None
        if isinstance(action, Click | Drag | MouseDown | MouseUp):
            start = action.point if isinstance(action, Click) else action.start if isinstance(action, Drag) else None
            self._target = self._seen(tree, start or self._pointer)
        if isinstance(action, Drag):
            end = self._seen(tree, action.end)
        return Scene(
            width=width,
            height=height,
            pointer=self._pointer,
            url=tree.url,
            elements=tree.elements,
            under=self._target,
            end=end,
            focused=tree.focused_target(),
            default=tree.default_button(),
            complete=tree.complete,
            origins=self._origins,
        )

    def _seen(self, tree: Tree, point: Point) -> Target | None:
        """What a click would reach; None also where something is drawn that the page does not name: a control can be hidden from the
        accessibility tree, and then the ground that it stands on must not answer for it."""
        target = self._desktop.target_at(tree, point)
        if target is None or not tree.bare(target):
            return target
        width, height = self._desktop.options.width, self._desktop.options.height
        return None if drawn(self._desktop.pixels(), width, height, point.x, point.y) else target

    def _stayed(self, address: str | None = None) -> None:
        """Raises RunStopped when the browser is not in the portal any more."""
        address = address or self._desktop.address()
        if left(address, self._origins):
            log.warning("The browser left the portal: it is on %s", address)
            raise RunStopped(LEFT)

    def _refused(self, call: Call, status: str, phrase: str, detail: str) -> ToolError:
        step = self._written(lambda: self._journal.begin(call))
        result = StepResult(status=status, text=phrase, milliseconds=0, detail=detail)
        self._written(lambda: self._journal.finish(step, result))
        return ToolError(phrase)

    def execute(self, context: BetaToolsetCallContext, name: Any, input: Any) -> BetaComputerMemberResult:
        """Run one allowed call between its two rows in the journal."""
        step = self._written(lambda: self._journal.begin(_call(context, name, input.to_dict())))
        self._picture = None
        started = time.monotonic()
        status, text, detail = "failed", "", ""
        decided = noted(self._decision)
        try:
            result = super().execute(context, name, input)
            status, text = "done", _told(result)
            self._broken = 0
            return result
        except ToolsetUsageError as error:
            detail = _detail(error)
            raise
        except Exception as error:
            detail = _detail(error)
            text = self._phrase(error, FAILED)
            raise ToolError(text) from None
        except BaseException as error:
            detail = _detail(error)
            raise
        finally:
            milliseconds = round((time.monotonic() - started) * 1000)
            row = StepResult(status, text, milliseconds, f"{decided} <- {detail}" if detail else decided, self._picture)
            self._written(lambda: self._journal.finish(step, row))

    def _written(self, write: Callable[[], W]) -> W:
        """A record that cannot be written ends the run: no step happens that nobody can read later."""
        try:
            return write()
        except Exception as error:
            raise RunStopped(NOT_WRITTEN) from error

    def _phrase(self, error: Exception, otherwise: str) -> str:
        """What the model reads of an exception. Raises RunStopped if the desktop is gone, or has failed too often in a row."""
        if isinstance(error, RefusalError):
            return error.phrase
        self._broken += 1
        if self._desktop.lost() is not None or self._broken >= MOST_BROKEN:
            raise RunStopped(LOST) from error
        return otherwise

    def _do(self, kind: type[T]) -> T:
        """The action that was allowed. Each is done once: a second call without a second question is a mistake of ours."""
        action, self._action = self._action, None
        if not isinstance(action, kind):
            raise RuntimeError(f"{kind.__name__} was not allowed before it was to be done")
        return action

    # ---- the batch's end

    def append_screenshot(self, response: dict[str, Any]) -> None:
        """Put a picture of the screen at the end of a batch, into the dict that the SDK's runner keeps and sends.

        `response` is what `generate_tool_call_response()` returned. Nothing is added when the batch's last computer result already
        has a picture, or is an error (the API takes only text there).
        """
        results = [block for block in response["content"] if block.get("toolset_name") == self.toolset_name]
        if not results:
            return
        last = results[-1]
        content = last.get("content") or []
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if last.get("is_error") or any(block["type"] == "image" for block in content):
            return
        try:
            self._stayed()
            picture = self._desktop.capture()
        except TemporaryError as error:
            last["content"] = [*content, {"type": "text", "text": self._phrase(error, NOT_SEEN)}]
            return
        self._written(lambda: self._journal.screenshot(picture))
        data = base64.b64encode(picture).decode("ascii")
        last["content"] = [
            *content,
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        ]

    # ---- seeing

    def screenshot(self, context: BetaToolsetCallContext, input: Any) -> BetaScreenshotResult:
        self._do(Screenshot)
        return self._shown(lambda: self._desktop.capture())

    def zoom(self, context: BetaToolsetCallContext, input: Any) -> BetaScreenshotResult:
        region = self._do(Zoom).region
        return self._shown(lambda: png(enlarged(self._desktop.image(), region)))

    def _shown(self, capture: Callable[[], bytes]) -> BetaScreenshotResult:
        try:
            picture = capture()
            self._stayed()
        except TemporaryError as error:
            raise RefusalError(self._phrase(error, NOT_SEEN)) from error
        self._picture = self._written(lambda: self._journal.screenshot(picture))
        return BetaScreenshotResult(data=base64.b64encode(picture).decode("ascii"), media_type="image/png")

    def cursor_position(self, context: BetaToolsetCallContext, input: Any) -> BetaComputerCursorPositionResult:
        self._do(CursorPosition)
        return BetaComputerCursorPositionResult(x=self._pointer.x, y=self._pointer.y)

    # ---- the mouse

    def left_click(self, context: BetaToolsetCallContext, input: Any) -> str:
        return self._click()

    def right_click(self, context: BetaToolsetCallContext, input: Any) -> str:
        return self._click()

    def middle_click(self, context: BetaToolsetCallContext, input: Any) -> str:
        return self._click()

    def double_click(self, context: BetaToolsetCallContext, input: Any) -> str:
        return self._click()

    def triple_click(self, context: BetaToolsetCallContext, input: Any) -> str:
        return self._click()

    def _click(self) -> str:
        action = self._do(Click)
        under = self._line(self._target)
        self._settled(
            lambda: self._desktop.input.click(
                action.point, button=action.button, count=action.count, modifiers=parse_modifiers(action.modifiers)
            )
        )
        return under

    def left_click_drag(self, context: BetaToolsetCallContext, input: Any) -> str:
        action = self._do(Drag)
        start = action.start or self._pointer
        line = f"From {described(self._element(self._target))} to {described(self._at(action.end))}."
        self._settled(lambda: self._desktop.input.drag(start, action.end, modifiers=parse_modifiers(action.modifiers)))
        return line

    def mouse_move(self, context: BetaToolsetCallContext, input: Any) -> str:
        action = self._do(MoveMouse)
        under = self._under(action.point)
        self._settled(lambda: self._desktop.input.move(action.point))
        return under

    def left_mouse_down(self, context: BetaToolsetCallContext, input: Any) -> str:
        self._do(MouseDown)
        under = self._line(self._target)
        self._settled(self._desktop.input.left_down)
        return under

    def left_mouse_up(self, context: BetaToolsetCallContext, input: Any) -> str:
        self._do(MouseUp)
        under = self._line(self._target)
        self._settled(self._desktop.input.left_up)
        return under

    def scroll(self, context: BetaToolsetCallContext, input: Any) -> str:
        action = self._do(Scroll)
        under = self._under(action.point or self._pointer)
        self._settled(
            lambda: self._desktop.input.scroll(
                action.point,
                action.direction,
                action.amount,
                modifiers=parse_modifiers(action.modifiers),
                check=self._check,
            )
        )
        return under

    # ---- the keyboard

    def key(self, context: BetaToolsetCallContext, input: Any) -> str:
        action = self._do(PressKeys)
        combination = parse_combination(action.keys)
        self._settled(lambda: self._desktop.input.press(combination, repeat=action.repeat, check=self._check))
        return self._focus_now()

    def hold_key(self, context: BetaToolsetCallContext, input: Any) -> str:
        action = self._do(HoldKeys)
        combination = parse_combination(action.keys)
        self._settled(lambda: self._desktop.input.hold(combination, action.seconds, check=self._check))
        return self._focus_now()

    def _focus_now(self) -> str:
        try:
            focused = self._desktop.focused()
        except TemporaryError:
            return NOT_CHECKED_FOCUS
        if focused is not None and focused.value:
            return f'The focus is on {described(focused)}, which holds "{one_line(focused.value, VALUE_LENGTH)}".'
        return f"The focus is on {described(focused)}."

    def type(self, context: BetaToolsetCallContext, input: Any) -> str:
        text = self._do(TypeText).text
        field = self._focused()
        multiline = field is not None and "multi-line" in field.states
        self._settled(lambda: self._desktop.input.type_text(text, multiline=multiline, check=self._check))
        if field is not None and field.role == "password text":
            return PASSWORD_FIELD
        if field is not None and "editable" in field.states:
            return self._read_back(field, text)
        if field is not None or (self._tree is not None and self._tree.overlays):
            return self._focus_now()  # an open list or a closed one: typing chooses in it
        return NOTHING_FOCUSED

    def _read_back(self, field: Element, text: str) -> str:
        """One line on what the field holds now: the same text, more than it, or something that the page made of it."""
        wanted = _comparable(text)
        deadline = time.monotonic() + READ_BACK_SECONDS
        now: Element | None = None
        while True:
            self._check()
            try:
                now = self._desktop.focused()
            except TemporaryError:
                return NOT_CHECKED
            if now is None or now.value is None or (now.role, now.name) != (field.role, field.name):
                # A tab or return moved the focus, or the page went on.
                return f"The focus is now on {described(now)}."
            if _comparable(now.value) == wanted:
                return f"{described(now)} holds exactly this text."
            if wanted and wanted in _comparable(now.value):
                return f'{described(now)} holds this text among other: "{one_line(now.value, VALUE_LENGTH)}".'
            if time.monotonic() >= deadline:
                break
            time.sleep(POLL_SECONDS)
        holds = f'"{one_line(now.value, VALUE_LENGTH)}"' if now.value else "nothing"
        return f"The page changed the text: {described(now)} holds {holds}."

    # ---- time

    def wait(self, context: BetaToolsetCallContext, input: Any) -> None:
        wait(self._do(Wait).seconds, check=self._check)

    # ---- shared

    def _settled(self, act: Callable[[], None]) -> None:
        before = self._desktop.pixels()
        act()
        self._desktop.settle(before, check=self._check)
        self._stayed()

    def _at(self, point: Point) -> Element | None:
        return self._element(self._desktop.target_at(self._tree, point)) if self._tree is not None else None

    def _element(self, target: Target | None) -> Element | None:
        return element_of(self._tree, target) if self._tree is not None else None

    def _line(self, target: Target | None) -> str:
        return f"Under the pointer: {described(self._element(target))}."

    def _focused(self) -> Element | None:
        return self._tree.focused() if self._tree is not None else None

    def _under(self, point: Point) -> str:
        return f"Under the pointer: {described(self._at(point))}."


def _call(context: BetaToolsetCallContext, member: str, arguments: Mapping[str, Any]) -> Call:
    tool_use_id = context.tool_use.id if context.tool_use is not None else ""
    return Call(tool_use_id, f"computer.{member}", dict(arguments))


def _told(result: BetaComputerMemberResult) -> str:
    if isinstance(result, BetaComputerCursorPositionResult):
        return f"X={result.x},Y={result.y}"
    return result if isinstance(result, str) else ""


def _detail(error: BaseException) -> str:
    """An exception for the record, with what caused it."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < 4:
        parts.append(f"{type(current).__name__}: {current}")
        current = current.__cause__ or current.__context__
    return " <- ".join(parts)[:2000]


def _comparable(text: str) -> str:
    """Line breaks alike, none at the end (a typed one may have left the field)."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\N{NO-BREAK SPACE}", " ").rstrip("\n")
