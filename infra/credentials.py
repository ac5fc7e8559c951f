"""The installation's own secrets: database passwords and the Prefect server's, made once, kept in a file of mode 0600.

A key for a model is never among them: it stays in the user's environment and passes through memory only.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.places import Home
from infra.postgres import new_passwords

API_USER = "filewright"


@dataclass(frozen=True)
class Credentials:
    """`passwords` has one entry per Postgres role; `prefect` is the server's basic-auth string, user:password."""

    passwords: Mapping[str, str] = field(repr=False)
    prefect: str = field(repr=False)


def load(home: Home) -> Credentials:
    """Read the file, adding what a newer version needs; make it where there is none.

    Raises ValueError where the file is not ours to trust: readable by others, or no JSON.
    """
    stored: dict[str, object] = {}
    if home.secrets.exists():
        if home.secrets.stat().st_mode & 0o077:
            raise ValueError(
                f"{home.secrets} can be read by others: `chmod 600` it, or delete it together with the database"
            )
        try:
            stored = json.loads(home.secrets.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{home.secrets} is damaged ({error}): restore it, or start over in another FILEWRIGHT_HOME"
            ) from error
    known = stored.get("passwords")
    passwords = {**new_passwords(), **(known if isinstance(known, dict) else {})}
    prefect = str(stored.get("prefect") or f"{API_USER}:{secrets.token_urlsafe(18)}")
    wanted = {"passwords": passwords, "prefect": prefect}
    if wanted != stored:
        home.make()
        draft = home.secrets.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(wanted, file, indent=1)
        draft.replace(home.secrets)
    return Credentials(passwords, prefect)
