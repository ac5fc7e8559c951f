"""Run as a script: ties a program's life to its parent's, then becomes that program.

    python -I -S exec_shim.py <parent pid> <signal> <program> [argument …]

The kernel sends <signal> to the program when the *thread* that started it ends, `kill -9` included (PR_SET_PDEATHSIG). It is
set here, after fork and exec, because a `preexec_fn` is not safe in a process with threads. A parent that died before the call
would never be noticed, so the parent's pid is compared afterwards. Standard library only: it runs without our packages.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def main() -> None:
    parent, signal, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        raise SystemExit("the parent process is already gone")
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
