"""The Messages API over HTTP: routes, headers, and errors in the API's own shape.

`POST /v1/messages` answers as the real API does; `GET /health` says that the process is up; `/faults` is the one thing
that the real API does not have. Every response carries a `request-id` header.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException

from .betas import parse_betas
from .errors import ApiError, invalid
from .replies import new_id
from .requests import API_VERSIONS
from .service import MessagesService

MAX_BODY_BYTES = 32 * 1024 * 1024

log = logging.getLogger(__name__)


def create_app(service: MessagesService) -> FastAPI:
    """The application that serves `service`."""
    app = FastAPI(title="Filewright offline model", docs_url=None, redoc_url=None, openapi_url=None)

    @app.middleware("http")
    async def identify(request: Request, call_next: Any) -> Response:
        request.state.request_id = new_id("req")
        response: Response = await call_next(request)
        response.headers["request-id"] = request.state.request_id
        return response

    @app.exception_handler(ApiError)
    async def refuse(request: Request, error: ApiError) -> JSONResponse:
        return JSONResponse(error.body(request.state.request_id), error.status, headers=error.headers)

    @app.exception_handler(StarletteHTTPException)
    async def no_route(request: Request, error: HTTPException) -> JSONResponse:
        known = {404: "Not found", 405: "Method Not Allowed"}
        return await refuse(request, ApiError(error.status_code, known.get(error.status_code, str(error.detail))))

    @app.post("/v1/messages")
    async def create_message(request: Request) -> JSONResponse:
        _check_key(request)
        version = _version(request)
        body = await _json_body(request)
        betas = parse_betas(",".join(request.headers.getlist("anthropic-beta")))
        return await _answer(service, body, betas, version)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/faults")
    async def list_faults() -> dict[str, Any]:
        return {"faults": service.faults.listed()}

    @app.post("/faults", status_code=201)
    async def add_fault(request: Request) -> dict[str, Any]:
        service.faults.add(await _json_body(request))
        return {"faults": service.faults.listed()}

    @app.delete("/faults")
    async def clear_faults() -> dict[str, Any]:
        service.faults.clear()
        return {"faults": []}

    return app


async def _answer(service: MessagesService, body: Any, betas: frozenset[str], version: str) -> JSONResponse:
    def check_and_answer() -> Any:
        with service.prepared(body, betas, version) as prepared:
            delay = prepared.fault.seconds if prepared.fault is not None and prepared.fault.kind == "slow" else 0.0
            return delay, service.answer(prepared)

    try:
        # Reading a screenshot takes the clerk a second or two: not on the event loop.
        delay, answer = await run_in_threadpool(check_and_answer)
    except ApiError:
        raise
    except Exception:
        log.exception("the offline model failed to answer")
        raise ApiError(500, "Internal server error") from None
    if delay:
        await asyncio.sleep(delay)
    return JSONResponse(answer)


def _check_key(request: Request) -> None:
    # SDK 2.x sends an API key as a bearer token, earlier ones in a header of its own. Any key will do here.
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if not request.headers.get("x-api-key") and not (scheme.lower() == "bearer" and token.strip()):
        raise ApiError(401, "x-api-key header is required")


def _version(request: Request) -> str:
    version = request.headers.get("anthropic-version")
    if version is None:
        raise invalid("header is required", at="anthropic-version")
    if version not in API_VERSIONS:
        raise invalid(f'"{version}" is not a valid version', at="anthropic-version")
    return version


async def _json_body(request: Request) -> Any:
    raw = await request.body()
    if len(raw) > MAX_BODY_BYTES:
        raise ApiError(413, "Request exceeds the maximum size")
    try:
        return json.loads(raw)
    except ValueError as error:
        raise invalid(f"The request body is not valid JSON: {error}") from None
