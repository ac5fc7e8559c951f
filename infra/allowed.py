"""What a child process may see of our environment: a list of names, never everything but a few.

A user's shell holds keys, tokens, a display, a D-Bus address. Nothing of that reaches a service, the browser or the tests unless its
name stands here. Which secrets a service gets is decided in infra/services.py, one service at a time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from infra.environment import Environment

# What programs need to find their files and to speak the user's language; no display, no session bus, no agent socket.
BASIC = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")
# What a download needs behind a company's proxy and certificate authority.
NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY", "all_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# Nobody's usage is reported to anybody.
QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLI_PROMPT": "false",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "SCARF_NO_ANALYTICS": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONUNBUFFERED": "1",
}


def inherited(surroundings: Mapping[str, str], *, network: bool = False) -> dict[str, str]:
    """The allow-listed part of `surroundings`."""
    names = BASIC + (NETWORK if network else ())
    return {name: surroundings[name] for name in names if surroundings.get(name)}


def child_environment(
    environment: Environment, surroundings: Mapping[str, str], *, network: bool = False
) -> dict[str, str]:
    """The environment that every child starts from: the allow-listed names, our PATH, the quiet settings.

    The PATH is not the caller's: an activated environment in the calling shell would otherwise be another setting for every service.
    """
    path = os.pathsep.join([str(environment.binaries), *SYSTEM_PATH])
    return {**inherited(surroundings, network=network), **QUIET, "PATH": path}


def suite_environment(environment: Environment, surroundings: Mapping[str, str]) -> dict[str, str]:
    """The test suite's: no key, no setting of this user's installation, no display; the tests bring what they need."""
    kept = {
        name: surroundings[name] for name in ("CI", "TERM", "COLUMNS", "FILEWRIGHT_BROWSER") if surroundings.get(name)
    }
    return {**child_environment(environment, surroundings), **kept}
