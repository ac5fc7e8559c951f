"""Origins: where an address leads, and whether it stays in the filing's own portal.

Decides from the text of an address as a browser serialises it. What it cannot read is outside: an unknown scheme, a name before an at
sign, a character that browsers and parsers read differently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
# Read in different ways by different parsers, or invisible.
_DOUBTFUL = re.compile(r"[\\\s\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
# Pages without a server: an empty one, and the browser's own report that it could not load the page.
_BETWEEN = ("about:blank", "about:srcdoc", "about:neterror")


def origin(address: str) -> str | None:
    """`scheme://host:port` of an http or https address, in lower case; None for every other."""
    if _DOUBTFUL.search(address):
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in PORTS or not host or "@" in parts.netloc:
        return None
    try:
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        return None
    return f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}"


def own(address: str, origins: Sequence[str]) -> bool:
    """Whether an address is on one of `origins`, which are addresses themselves."""
    found = origin(address)
    return found is not None and found in {origin(one) for one in origins}


def left(address: str | None, origins: Sequence[str]) -> bool:
    """Whether a browser at this address has left the portal. An empty page and the browser's own report of a failed load have not."""
    if not address or address.split("?")[0].split("#")[0] in _BETWEEN:
        return False
    return not own(address, origins)
