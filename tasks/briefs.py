"""Reads a form's `brief.toml` from its corpus folder, for whoever files, schedules or checks a request."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tasks.domain.briefs import Brief, parse_brief
from tasks.domain.errors import PermanentError


def load_brief(corpus: Path, form: str) -> Brief:
    """The form's brief. Raises PermanentError where the corpus has no such form or the file is wrong."""
    if "/" in form or form.startswith("."):
        raise PermanentError(f"{form!r} is not the name of a form.")
    path = corpus / "filings" / form / "brief.toml"
    try:
        return parse_brief(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PermanentError(f"Corpus {corpus.name} has no form {form}: {path} is missing.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PermanentError(f"{path} cannot be read: {error}") from error
