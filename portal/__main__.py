"""`python -m portal`: serves the portal until it is told to stop. Exit 2 when a setting is wrong, 1 when it cannot listen."""

from __future__ import annotations

import sys

from pydantic import ValidationError

from portal.app import create_server
from portal.settings import PortalSettings


def main() -> int:
    """Serve the portal; the exit code."""
    try:
        settings = PortalSettings()  # type: ignore[call-arg]  # its fields come from the environment
        server = create_server(settings)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            print(f"PORTAL_{'_'.join(map(str, problem['loc'])).upper()}: {problem['msg']}", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        print(f"PORTAL_QUESTIONS: {error}", file=sys.stderr)
        return 2
    server.run()
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())
