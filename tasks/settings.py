"""Every setting of the worker side, read from the environment in this one place and passed on as values.

Groups are frozen objects; a field's docstring is its documentation, and the variable is FILEWRIGHT_ and the field's name in capitals,
whatever its group. `settings_table()` is what `.env.example` and the README's table are tested against.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parents[1]

# Nothing that Filewright builds on reports its use to its vendor. A person's own choice stands.
for _variable, _value in (
    ("DO_NOT_TRACK", "1"),
    ("SCARF_NO_ANALYTICS", "true"),
    ("GX_ANALYTICS_ENABLED", "false"),
    ("HF_HUB_DISABLE_TELEMETRY", "1"),
):
    os.environ.setdefault(_variable, _value)


class _Group(BaseSettings):
    # No env_file: Prefect's own command line reads ./.env, and one reader of it is enough.
    model_config = SettingsConfigDict(
        env_prefix="FILEWRIGHT_", frozen=True, extra="ignore", use_attribute_docstrings=True, env_ignore_empty=True
    )


class StoreSettings(_Group):
    """Where the records are."""

    database_url: SecretStr = SecretStr("")
    """Postgres of this process's own role, as postgresql://role:password@host:port/database. Needs pgvector 0.8 or later."""

    home: Path = ROOT / ".filewright"
    """Folder of everything that a run leaves on disk: runs, BM25 files, downloads, logs."""


class CorpusSettings(_Group):
    """Where documents come from."""

    corpus_folder: Path = ROOT / "corpus"
    """Folder that holds one folder per corpus."""

    corpus_mirror: Path | None = None
    """A local folder that is searched for documents, by sha256, before anything is downloaded."""

    corpus_download: bool = True
    """Whether documents that are nowhere else may be downloaded from the manifest's addresses."""


class RetrievalSettings(_Group):
    """How text becomes an index."""

    embedding_model: Literal["auto", "minilm", "bge-small"] = "auto"
    """Embedding model of new index generations: minilm ships in a package, bge-small downloads 130 MB; auto keeps the serving index's."""

    vector_precision: Literal["single", "half"] = "single"
    """What the vector index of new index generations holds: half takes half the memory, and results are ranked by the full vectors."""

    chunk_size: int = Field(default=500, ge=100, le=4000)
    """Characters in a chunk at the most."""

    chunk_overlap: int = Field(default=90, ge=0, le=2000)
    """Characters that neighbouring chunks share at the most."""

    passages: int = Field(default=4, ge=1, le=20)
    """Passages that a search returns to the agent; the index gate measures recall at 4."""


class DesktopSettings(_Group):
    """The screen and the browser of a filing."""

    browser: Path | None = None
    """Path of the Firefox to drive; by default firefox-esr, then a firefox that is no snap stub."""

    screen_width: int = Field(default=1024, ge=640, le=2576)
    """Width of the virtual screen in pixels."""

    screen_height: int = Field(default=768, ge=480, le=2576)
    """Height of the virtual screen in pixels."""


class AgentSettings(_Group):
    """The model and what it may spend."""

    model: str = "offline"
    """The model that works the portal; `offline` is the local stand-in, which costs nothing. A real model is chosen by name only."""

    model_url: str = ""
    """Address of the offline model's server; never used with a real model."""

    anthropic_api_key: SecretStr = Field(default=SecretStr(""), validation_alias="ANTHROPIC_API_KEY")
    """Key for a real model; only the filing worker holds it (the variable is ANTHROPIC_API_KEY)."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] = "medium"
    """How deeply a real model thinks."""

    threads: bool = False
    """Whether the model's server may hold the conversation; off because held conversations are outside zero data retention."""

    max_turns: int = Field(default=80, ge=1)
    """Model requests in one attempt at the most."""

    max_actions: int = Field(default=300, ge=1)
    """Tool calls in one attempt at the most."""

    max_seconds: int = Field(default=1200, ge=1)
    """Seconds that one attempt's agent may run at the most."""

    max_tokens: int = Field(default=10_000_000, ge=1)
    """Tokens of all kinds in one attempt at the most."""

    max_dollars: float = Field(default=2.0, gt=0)
    """US dollars that one attempt may spend at the most, by the price table."""


class FilingSettings(_Group):
    """What a filing run does around the agent."""

    portal_url: str = ""
    """Base address of the portal, without a slash at its end."""

    approval: Literal["none", "auto"] = "none"
    """Who answers where the action policy asks a person: nobody, or `auto`, which says yes to the form's own submit (demonstrations)."""

    screenshot_artifact: bool = False
    """Whether the last screenshot becomes an artifact in Prefect. Off: a portal's page is not for every user of a Prefect server."""

    lease_seconds: int = Field(default=30, ge=5, le=3600)
    """How long an attempt keeps a filing to itself without a sign of life; a heartbeat renews it at a third of this."""

    @field_validator("portal_url")
    @classmethod
    def _without_slash(cls, value: str) -> str:
        return value.rstrip("/")


class Settings:
    """All groups; built once by `settings()`."""

    groups: ClassVar[dict[str, type[_Group]]] = {
        "store": StoreSettings,
        "corpus": CorpusSettings,
        "retrieval": RetrievalSettings,
        "desktop": DesktopSettings,
        "agent": AgentSettings,
        "filing": FilingSettings,
    }

    def __init__(self) -> None:
        self.store = StoreSettings()
        self.corpus = CorpusSettings()
        self.retrieval = RetrievalSettings()
        self.desktop = DesktopSettings()
        self.agent = AgentSettings()
        self.filing = FilingSettings()


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process. Raises pydantic's ValidationError, which names the variable that is wrong."""
    return Settings()


def settings_table() -> tuple[tuple[str, str, str, str], ...]:
    """Rows of (variable, group, default, documentation), one per setting, in the order of this file."""
    rows = []
    for group, model in Settings.groups.items():
        for name, field in model.model_fields.items():
            alias = field.validation_alias
            variable = alias if isinstance(alias, str) else f"FILEWRIGHT_{name.upper()}"
            default = field.default
            shown = default.get_secret_value() if isinstance(default, SecretStr) else default
            if isinstance(shown, Path):
                shown = shown.relative_to(ROOT)
            rows.append((variable, group, "" if shown is None else str(shown), field.description or ""))
    return tuple(rows)
