"""`infra test` told to stop takes its checks along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from infra.places import ROOT
from infra.suite import _run
from tests.infra.bench import eventually
from tests.infra.test_supervisor import gone


def test_a_check_that_fails_gives_its_exit_code() -> None:
    """And one that passes gives 0."""
    assert _run([sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"], dict(os.environ)) == 3
    assert _run([sys.executable, "-I", "-S", "-c", ""], dict(os.environ)) == 0


def test_a_suite_that_is_told_to_stop_lets_its_check_clean_up(tmp_path: Path) -> None:
    """SIGTERM to the command (a CI's time limit) reaches pytest as Ctrl-C does, also where a shell had put it into the background."""
    check = f"""
import os, time
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
try:
    time.sleep(600)
except KeyboardInterrupt:
    open({str(tmp_path / "cleaned")!r}, "w").close()
"""
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    code = f"{ignored}; import os, sys; from infra.suite import _run; _run([sys.executable, '-I', '-S', '-c', {check!r}], dict(os.environ))"
    suite = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        pid = int(eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), what="a check"))
        suite.send_signal(signal.SIGTERM)
        assert suite.wait(20) == 128 + signal.SIGTERM
    finally:
        suite.kill()
        suite.wait()
    assert (tmp_path / "cleaned").exists() and gone(pid)
