"""The command line: which words there are, and which module answers.

Only the standard library is imported here: everything that needs the environment is imported after `enter`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from infra.bootstrap import OFFLINE, bootstrap
from infra.environment import Environment
from infra.places import ROOT


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        prog="python3 -m infra",
        description="Filewright on this machine: installs what is missing, runs the services, runs the demo.",
    )
    commands = words.add_subparsers(dest="command", required=True, metavar="COMMAND")

    test = commands.add_parser("test", help="linters, types, import rules and the whole test suite")
    installing(test)
    test.add_argument("pytest", nargs="*", help="passed on to pytest, after --")
    return words


def installing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--yes", action="store_true", help="do not ask before installing")
    command.add_argument("--print", dest="only_print", action="store_true", help="say what was found and would be done, and end")


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    if options.command == "test":
        environment = ready(options, given)
        from infra.suite import run_suite

        return run_suite(environment, os.environ, options.pytest)
    raise AssertionError(options.command)


def ready(options: argparse.Namespace, given: Sequence[str], model: str = OFFLINE) -> Environment:
    """Bootstrap where needed, then run the same command line again inside the environment; returns there."""
    from infra.environment import expected

    environment = expected()
    if environment.current() and environment.complete() and not options.only_print:
        return environment
    environment = bootstrap(yes=options.yes, only_print=options.only_print, model=model)
    environment.enter(given)
    raise AssertionError(f"{ROOT}: exec returned")
