"""Puts the portal together: settings, questions, store, routes, error pages, server.

It decides nothing about reports; it names the parts, once, at start.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from portal import pages, routes
from portal.questions import load_questions
from portal.security import Guard
from portal.settings import PortalSettings
from portal.store import Store


def today_in_utc() -> date:
    """The date that decides whether a quarter has begun."""
    return datetime.now(UTC).date()


def create_app(settings: PortalSettings, *, today: Callable[[], date] = today_in_utc) -> ASGIApp:
    """The portal as an ASGI application. It does not connect to the database until a request needs it.

    Raises ValueError or OSError when the questions cannot be loaded.
    """
    app = FastAPI(title="Quality Reporting Portal", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.portal = routes.Portal(
        settings=settings,
        questions=load_questions(settings.questions),
        store=Store(
            settings.database_url.get_secret_value(),
            draft_hours=settings.draft_hours,
            seconds=settings.database_seconds,
        ),
        pages=pages.Pages(font=settings.font),
        today=today,
    )
    app.include_router(routes.router)
    routes.add_error_pages(app)
    # Around the whole application, not inside it: the page of an unexpected fault gets the headers too.
    return Guard(app, host_names=settings.host_names)


def create_server(
    settings: PortalSettings, *, today: Callable[[], date] = today_in_utc, log_level: str = "info"
) -> uvicorn.Server:
    """The web server of one portal process, not started yet. Raises as `create_app` does."""
    return uvicorn.Server(
        uvicorn.Config(
            create_app(settings, today=today),
            host=settings.host,
            port=settings.port,
            log_level=log_level,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=5,  # seconds for requests that are being answered
        )
    )
