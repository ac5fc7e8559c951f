"""The one error that the server answers with, in the shape that the SDK parses into its exception classes.

Status and `type` go together as the API documents them; `details.error_code` is what the SDK selects a class by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JSON = dict[str, Any]

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class ApiError(Exception):
    """A refusal: an HTTP status, the text, and where the API has them the details that a client may act on."""

    def __init__(
        self, status: int, message: str, *, details: JSON | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details
        self.headers = dict(headers or {})

    def body(self, request_id: str) -> JSON:
        """The response body; `request_id` repeats the `request-id` header."""
        error: JSON = {"type": ERROR_TYPES[self.status], "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str, *, at: str = "", details: JSON | None = None) -> ApiError:
    """A 400 whose text begins with the path of the offending field, as in `messages.0.content.1: …`."""
    return ApiError(400, f"{at}: {message}" if at else message, details=details)
