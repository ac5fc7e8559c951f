"""The portal's settings: read from PORTAL_* in the environment, once, and passed on as a value.

No other module of the portal reads the environment. Every field is documented here and in the README's table (a test
compares them).
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class PortalSettings(BaseSettings):
    """Settings of one portal process."""

    model_config = SettingsConfigDict(env_prefix="PORTAL_", use_attribute_docstrings=True, frozen=True)

    database_url: SecretStr
    """Postgres URL of the role that owns nothing but the portal's rights (`filewright_portal`). Required."""

    host: str = "127.0.0.1"
    """Address to listen on. The portal has no accounts, so it stays on the loopback address unless told otherwise."""

    port: int = Field(default=8010, ge=0, le=65535)
    """Port to listen on; 0 takes a free one and prints it."""

    allowed_hosts: str = "127.0.0.1,localhost,[::1]"
    """Host names, separated by commas, under which the portal answers; others are refused (DNS rebinding)."""

    draft_hours: float = Field(default=24, gt=0, le=24 * 365)
    """Hours after its last save at which a draft expires."""

    questions: Path = Path(__file__).with_name("questions.toml")
    """File with the wording and order of the attestations."""

    font: str = ""
    """CSS font families put before the usual ones, such as `Verdana` or `"DejaVu Serif"`; empty for the usual ones."""

    max_body_bytes: int = Field(default=256 * 1024, ge=1024)
    """Largest request body that is read into a form; a larger one is answered with 413."""

    database_seconds: float = Field(default=5, gt=0)
    """Seconds after which a database that does not answer counts as unavailable."""

    secure_cookie: bool = False
    """Mark the session cookie Secure. Set it where the portal is served over HTTPS."""

    @field_validator("font")
    @classmethod
    def _font_is_a_list_of_names(cls, font: str) -> str:
        # The value is written into a style sheet: nothing that could end the declaration.
        if not re.fullmatch(r"[A-Za-z0-9 ,\"'_-]*", font):
            raise ValueError('may hold only font names, such as Verdana or "DejaVu Serif"')
        return font

    @property
    def host_names(self) -> frozenset[str]:
        """The allowed host names in lower case, without port; the listening address is always among them."""
        names = {name.strip().lower() for name in self.allowed_hosts.split(",")} | {self.host.lower()}
        return frozenset(name for name in names if name and name not in {"0.0.0.0", "::"})
