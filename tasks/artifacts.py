"""What a run leaves in Prefect for people to look at.

Showing something must never cost the run: what fails here is logged, and the run goes on.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from prefect.artifacts import create_image_artifact, create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger


def artifact_key(text: str) -> str:
    """`text` as Prefect wants artifact keys: lower-case letters, digits and dashes."""
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in text.lower()).strip("-") or "x"


class ProgressArtifact:
    """A bar in the UI, from 0 to 100 percent."""

    def __init__(self, name: str, description: str) -> None:
        self._artifact: UUID | None = None

        def begin() -> None:
            self._artifact = create_progress_artifact(  # type: ignore[assignment]  # a coroutine only where the caller is one
                progress=0.0, key=artifact_key(name), description=description
            )

        _try(begin, "The progress")

    def show(self, percent: Callable[[], float]) -> str:
        """Set the bar to what `percent` gives; returns it as text for the log."""
        shown = "progress unknown"

        def update() -> None:
            nonlocal shown
            value = percent()
            shown = f"{value:.0f} %"
            if self._artifact is not None:
                update_progress_artifact(artifact_id=self._artifact, progress=value)

        _try(update, "The progress")
        return shown


def show_picture(path: Path, name: str, description: str) -> None:
    """A PNG file as an image artifact."""

    def create() -> None:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        create_image_artifact(
            image_url=f"data:image/png;base64,{data}", key=artifact_key(name), description=description
        )

    _try(create, "The picture")


def _try(show: Callable[[], None], what: str) -> None:
    try:
        show()
    except Exception as error:
        get_run_logger().warning("%s could not be shown: %s: %s", what, type(error).__name__, error)
