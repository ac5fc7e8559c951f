"""A program that starts a desktop, says where it is and stays: for tests that end it in unfriendly ways.

python lone_desktop.py <folder> <url> [sigterm]
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from tasks.desktop.options import DesktopOptions
from tasks.desktop.session import Desktop


def terminated(number: int, frame: object) -> None:
    raise SystemExit(number)


def main() -> None:
    folder, url = Path(sys.argv[1]), sys.argv[2]
    if "sigterm" in sys.argv:
        signal.signal(signal.SIGTERM, terminated)
    with Desktop(DesktopOptions(folder=folder), url=url) as desktop:
        print(desktop.display, flush=True)
        while True:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
