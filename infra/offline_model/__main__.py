"""`python -m infra.offline_model --port N`: serve the Messages API on this machine.

Before anything else the process replaces itself with a copy of itself that has an environment of a few harmless names.
Whoever starts it, the clerk cannot know a database, a corpus or a key.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

ALLOWED_ENVIRONMENT = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "OMP_THREAD_LIMIT",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONWARNINGS",
    "TESSDATA_PREFIX",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
)


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that the offline model may have."""
    return {name: value for name, value in environment.items() if name in ALLOWED_ENVIRONMENT}


def main(argv: list[str] | None = None) -> None:
    """Parse the command line and serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m infra.offline_model", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="TCP port; 0 takes a free one and prints it")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    arguments = parser.parse_args(argv)

    environment = allowed_environment(os.environ)
    if environment != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)

    import uvicorn

    from .clerk import respond
    from .server import create_app
    from .service import MessagesService

    uvicorn.run(create_app(MessagesService(respond)), host=arguments.host, port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
