"""The connection to the model: one client, and what its errors mean to a run.

Decides which failures of a request are worth another attempt. It never puts a key, a header or any part of a request or of
the service's answer into a message: an answer may quote what was sent. What a person gets is the status, the service's own
error type and the request's id, by which the service's console shows the rest.

The SDK retries by itself, obeying retry-after; only when that is used up does the caller get a TemporaryError. A retry-after
beyond `LONGEST_RETRY_AFTER` is not waited for, because no budget or stop could be looked at meanwhile.
"""

from __future__ import annotations

import logging
import re

import anthropic
import httpx2

from tasks.domain.errors import PermanentError, TemporaryError

log = logging.getLogger(__name__)

VENDOR_URL = "https://api.anthropic.com"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MAX_RETRIES = 4
REQUEST_SECONDS = 300.0
"""For one attempt: a long answer with thinking, not streamed, needs a minute or two."""
CONNECT_SECONDS = 10.0
LONGEST_RETRY_AFTER = 60.0
TEMPORARY_STATUSES = frozenset({408, 409, 429})
"""Besides every 5xx: the same statuses that the SDK itself retries."""
SAFE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")


def refuse_long_waits(response: httpx2.Response) -> None:
    """Tell the SDK not to retry where the service asks for a wait longer than `LONGEST_RETRY_AFTER` seconds."""
    try:
        wait = float(response.headers.get("retry-after", "0"))
    except ValueError:
        return  # a date: the SDK reads it, and the service sends seconds
    if wait > LONGEST_RETRY_AFTER:
        response.headers["x-should-retry"] = "false"


def make_client(*, base_url: str | None, api_key: str, max_retries: int = MAX_RETRIES) -> anthropic.Anthropic:
    """A client for the service at `base_url`, or the vendor's own where that is None.

    Raises PermanentError without a key. No key is looked for in the environment; a proxy set there is used, but not on the way
    to a service on this machine.
    """
    if not api_key.strip():
        raise PermanentError("No API key was given for the model. Set ANTHROPIC_API_KEY, or use the offline model.")
    address = httpx2.URL(base_url or VENDOR_URL)
    return anthropic.Anthropic(
        api_key=api_key,
        base_url=address,
        max_retries=max_retries,
        timeout=httpx2.Timeout(REQUEST_SECONDS, connect=CONNECT_SECONDS),
        http_client=anthropic.DefaultHttpxClient(
            event_hooks={"response": [refuse_long_waits]}, trust_env=address.host not in LOOPBACK
        ),
    )


def translated(error: Exception) -> Exception:
    """What a failed request means: TemporaryError where another attempt later may succeed, else PermanentError.

    A mistake of ours that the SDK found before it sent anything (an AnthropicError that is no APIError) is returned unchanged.
    """
    if isinstance(error, anthropic.APIStatusError):
        about = _about(error)
        if error.status_code in TEMPORARY_STATUSES or error.status_code >= 500:
            return TemporaryError(
                f"The model service is busy or failing ({about}); its retries are used up. Try again later."
            )
        if error.status_code in (401, 403):
            return PermanentError(
                f"The model service refused the key ({about}). Check ANTHROPIC_API_KEY and its rights."
            )
        if error.status_code == 402:
            return PermanentError(f"The model service asks for payment ({about}). Check the account's credit.")
        return PermanentError(
            f"The model service refused the request ({about}). Look the request up by its id in the service's console; "
            "trying again sends the same request."
        )
    if isinstance(error, anthropic.APITimeoutError):
        return TemporaryError("The model service did not answer in time, and its retries are used up. Try again later.")
    if isinstance(error, anthropic.APIConnectionError):
        return TemporaryError(
            "The model service cannot be reached. Check the network and the service's address, and try again."
        )
    if isinstance(error, anthropic.AnthropicError) and not isinstance(error, anthropic.APIError):
        return error
    log.error("The model service's answer could not be read: %s", type(error).__name__)
    return TemporaryError("The model service answered in a form that could not be read. Try again later.")


def _about(error: anthropic.APIStatusError) -> str:
    parts = [f"HTTP {error.status_code}"]
    for label, value in (("type", error.type), ("code", error.error_code), ("request", error.request_id)):
        if isinstance(value, str) and SAFE_NAME.fullmatch(value):
            parts.append(f"{label} {value}")
    return ", ".join(parts)
