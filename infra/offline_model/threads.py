"""Message threads: conversations that the server holds between two requests.

A thread lives for five minutes after its last request. Each response can be continued once. `system` and `tools` come
from the thread; fields that must not change are compared. A turn that failed leaves the thread as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from .canonical import canonical, digest
from .errors import JSON, ApiError, invalid
from .requests import Request

LIFETIME_SECONDS = 300.0
FIXED_FIELDS = ("model", "output_config", "thinking")
UNSUPPORTED_WITH_THREAD = ("context_management",)


@dataclass
class Held:
    """A stored conversation up to and with one response; `paused` says that its last turn is unfinished."""

    system: list[JSON]
    tools: list[JSON]
    messages: list[JSON]
    fixed: dict[str, str]
    paused: bool
    expires: float
    continued: bool = False
    in_flight: bool = False


class Threads:
    """All live threads by the id of their last response; safe to use from several threads of the process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[str, Held] = {}
        self._lock = Lock()

    @contextmanager
    def open(self, request: Request) -> Iterator[tuple[Request, bool]]:
        """The whole request and whether it resumes a paused turn of its thread; without a thread, as it was sent.

        Raises ApiError: 404 for a thread that is unknown or expired, 400 for one continued twice or otherwise misused.
        """
        thread = request.body.get("thread")
        if thread is not None:
            _check_supported(request)
        if thread is None or thread["type"] == "create":
            yield request, False
            return
        held = self._take(thread["previous_message_id"], request)
        try:
            # Marks were set for the turn that sent them first; a stored one would count against the four of this one.
            stored = [
                {"role": message["role"], "content": [canonical(block) for block in message["content"]]}
                for message in held.messages
            ]
            whole = Request(
                rules=request.rules,
                betas=request.betas,
                body=request.body,
                system=held.system,
                tools=held.tools,
                messages=stored + request.messages,
            )
            yield whole, held.paused and not request.messages
        except BaseException:
            held.in_flight = False
            raise
        held.in_flight = False
        held.continued = True

    def keep(self, message_id: str, request: Request, content: list[JSON], *, paused: bool) -> None:
        """Store the conversation of a threaded request and its reply under the reply's id."""
        if request.body.get("thread") is None:
            return
        with self._lock:
            self._held[message_id] = Held(
                system=request.system,
                tools=request.tools,
                messages=[*request.messages, {"role": "assistant", "content": content}],
                fixed={name: digest(request.body.get(name)) for name in FIXED_FIELDS},
                paused=paused,
                expires=self._clock() + LIFETIME_SECONDS,
            )

    def _take(self, message_id: str, request: Request) -> Held:
        for name in ("system", "tools"):
            if name in request.body:
                raise invalid("may not be sent with thread.type 'continue'; the thread keeps its own", at=name)
        with self._lock:
            now = self._clock()
            self._held = {key: held for key, held in self._held.items() if held.expires > now}
            held = self._held.get(message_id)
            if held is None:
                raise ApiError(
                    404,
                    "thread: No thread state was found for `previous_message_id`. Send the full conversation with "
                    '`thread: {"type": "create"}`.',
                    details={"error_code": "thread_not_found"},
                )
            if held.continued:
                raise _misused("thread_already_continued", "`previous_message_id` has already been continued")
            if held.in_flight:
                raise _misused("thread_continue_in_flight", "another request is still continuing this thread")
            differing = [name for name in FIXED_FIELDS if digest(request.body.get(name)) != held.fixed[name]]
            if differing:
                raise _misused("thread_fingerprint_mismatch", f"differing field(s): {', '.join(differing)}")
            held.in_flight = True
            held.expires = now + LIFETIME_SECONDS
            return held


def _check_supported(request: Request) -> None:
    unsupported = [name for name in UNSUPPORTED_WITH_THREAD if request.body.get(name) is not None]
    if unsupported:
        raise invalid(
            f"threads do not support {', '.join(unsupported)}; send the full conversation without `thread`",
            at="thread",
            details={"error_code": "thread_unsupported_request", "unsupported": unsupported},
        )


def _misused(code: str, message: str) -> ApiError:
    return invalid(message, at="thread", details={"error_code": code})
