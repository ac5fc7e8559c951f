"""When a box is tried again: only where the same call may succeed later."""

from __future__ import annotations

from typing import Any

from tasks.domain.errors import TemporaryError


def is_temporary(task: Any, run: Any, state: Any) -> bool:
    """Prefect's retry condition: true for a TemporaryError and for nothing else."""
    try:
        state.result()
    except TemporaryError:
        return True
    except BaseException:
        return False
    return False


RETRIES: dict[str, Any] = {"retries": 2, "retry_delay_seconds": [2, 10], "retry_condition_fn": is_temporary}
"""For `@task(...)`: three tries in all, two and ten seconds apart."""
