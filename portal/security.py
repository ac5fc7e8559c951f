"""What protects the visitor: session, CSRF token, origin check, host check and response headers.

It decides who may post a form. It never reads a form's content and keeps nothing between requests.

Rules
    a session is 256 random bits in a cookie that scripts cannot read; the CSRF token is derived from it, so it needs no
    store and works while the database is away
    a POST whose Origin is another site is refused before its form is read; without the session's token saves nothing
    a request under a host name that is not allowed is refused: no other site's name may lead to a loopback address
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "qi_portal_session"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with that, browsers send the origin "null" with the portal's own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """One browser session; `new` if its cookie has still to be set."""

    session: str
    new: bool

    @property
    def csrf(self) -> str:
        """The token that each form of this session carries."""
        return hmac.new(self.session.encode(), b"portal form", hashlib.sha256).hexdigest()

    def sent(self, token: str) -> bool:
        """Whether a form with this token comes from a page of this session."""
        return not self.new and hmac.compare_digest(token.encode(), self.csrf.encode())


def visitor(request: Request) -> Visitor:
    """The session of a request; a new one if it has none or a malformed one."""
    session = request.cookies.get(COOKIE, "")
    if re.fullmatch(r"[A-Za-z0-9_-]{43}", session):
        return Visitor(session, new=False)
    return Visitor(secrets.token_urlsafe(32), new=True)


def remember(response: Response, guest: Visitor, *, secure: bool) -> None:
    """Set the session cookie of a new visitor; it ends with the browser's session."""
    if guest.new:
        response.set_cookie(COOKIE, guest.session, path="/", httponly=True, samesite="lax", secure=secure)


def from_another_site(request: Request) -> bool:
    """Whether the browser says that another site sent this. A client that says nothing still needs the token."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()


class Guard:
    """ASGI middleware: refuses unknown host names and puts the security headers on every response."""

    def __init__(self, app: ASGIApp, *, host_names: frozenset[str]) -> None:
        self._app = app
        self._host_names = host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if _host_name(Request(scope)) in self._host_names:
            await self._app(scope, receive, send_with_headers)
        else:
            refusal = PlainTextResponse("This portal does not answer under that host name.\n", status_code=400)
            await refusal(scope, receive, send_with_headers)


def _host_name(request: Request) -> str:
    return re.sub(r":[0-9]*\Z", "", request.headers.get("host", "").lower())
