"""Boxes without a run: called by hand as plain functions, with no Prefect server that keeps their logs and artifacts.

For measuring what a box does. It decides nothing, and no flow uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.logging import disable_run_logger
from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE, temporary_settings


@contextmanager
def without_a_server() -> Iterator[None]:
    """Within it a box's `fn` logs nothing and reaches no server. Import the boxes before: their import sets logging up anew."""
    with (
        temporary_settings({PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}, restore_defaults={PREFECT_API_URL}),
        disable_run_logger(),
    ):
        yield
