"""When an action has had its effect: the rule, and nothing that looks at a screen by itself.

Measured on static pages in Firefox: the first change comes within 90 ms of a click or key, the last by 100 ms, the longest gap
between changes is 63 ms. So: wait up to FIRST for a first change, then until QUIET have passed without one, at most CAP. A
spinner meets the cap. A slow server passes for quiet, so navigations need the document's load state as well (session.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

FIRST_SECONDS = 0.2
QUIET_SECONDS = 0.12
CAP_SECONDS = 2.0
POLL_SECONDS = 0.015


@dataclass(frozen=True, slots=True)
class Settled:
    """`changed`: anything moved at all; `quiet`: it had stopped moving (False: the cap was met)."""

    changed: bool
    quiet: bool


def settle(
    grab: Callable[[], bytes],
    before: bytes,
    *,
    check: Callable[[], None],
    first: float = FIRST_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Settled:
    """Wait until what `grab` returns has stopped changing; `before` is how it was ahead of the action."""
    start = clock()
    last, changed_at = before, None
    while True:
        check()
        now_seen = grab()
        now = clock()
        if now_seen != last:
            last, changed_at = now_seen, now
        if changed_at is None and now - start >= first:
            return Settled(changed=False, quiet=True)
        if changed_at is not None and now - changed_at >= QUIET_SECONDS:
            return Settled(changed=True, quiet=True)
        if now - start >= CAP_SECONDS:
            return Settled(changed=changed_at is not None, quiet=False)
        sleep(POLL_SECONDS)
