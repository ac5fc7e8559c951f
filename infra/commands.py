"""The command line: which words there are, and which module answers.

Only what needs nothing but the standard library is imported here; the rest is imported once we run inside the environment.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence

from infra.bootstrap import CANNOT_WORK, Stopped, bootstrap
from infra.environment import Environment, expected
from infra.places import home
from infra.services import KEY, OFFLINE, Model

DOLLARS = 2.0


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        prog="python3 -m infra",
        description="Filewright on this machine: installs what is missing, runs the services, runs the demo.",
    )
    commands = words.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="ingest, file and verify one report, and show what came of it")
    _installing(demo)
    _choosing(demo)
    demo.add_argument("--corpus", default="sample", help="folder below corpus/: sample (default) or hipaa")
    demo.add_argument("--report-id", default="QI-2025-014", help="default %(default)s")
    demo.add_argument("--quarter", default="Q3 2025", help='default "%(default)s"')
    demo.add_argument("--department", default="Pharmacy", help="default %(default)s")
    demo.add_argument("--down", action="store_true", help="stop the services afterwards (they keep running otherwise)")

    up = commands.add_parser("up", help="start the services, or bring them to these settings")
    _installing(up)
    _choosing(up)

    commands.add_parser("down", help="stop everything of this installation, also what a killed command left")
    commands.add_parser("status", help="what runs, since when, where; exit code 0 if all is well")
    commands.add_parser("doctor", help="try every part of this machine and say what to do; exit code 0 if all is well")
    commands.add_parser("env", help='shell lines for the Prefect command line: eval "$(python3 -m infra env)"')

    test = commands.add_parser("test", help="linters, types, import rules and the whole test suite")
    _installing(test)
    test.add_argument("pytest", nargs="*", help="passed on to pytest, after --")
    return words


def _installing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--yes", action="store_true", help="do not ask before installing")
    command.add_argument(
        "--print", dest="only_print", action="store_true", help="say what was found and would be done, and end"
    )


def _choosing(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model", default="", metavar="NAME", help="a real model, which costs money (default: offline)"
    )
    command.add_argument(
        "--max-dollars",
        type=float,
        help="ceiling of one attempt with a real model (default: FILEWRIGHT_MAX_DOLLARS, or 2)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    try:
        return _answer(options, given)
    except KeyboardInterrupt:
        print("\nInterrupted. Services that run go on: python3 -m infra status, python3 -m infra down", file=sys.stderr)
        return 130


def _answer(options: argparse.Namespace, given: Sequence[str]) -> int:
    if options.command == "test":
        environment = ready(options, given)
        from infra.suite import run_suite

        return run_suite(environment, os.environ, options.pytest)
    if options.command in {"demo", "up"}:
        return _run(options, given)
    from infra import local

    place = home()
    if options.command == "down":
        for line in local.down(place) or ["nothing was running"]:
            print(line)
        return 0
    if options.command == "status":
        lines, all_well = local.status_lines(place)
        print("\n".join(lines))
        return 0 if all_well else 1
    if options.command == "env":
        with local.errors_as_exit():
            print("\n".join(local.exports(expected(), place, os.environ)))
        return 0
    from infra.doctor import examine

    return examine(place)


def chosen_model(options: argparse.Namespace, environment: dict[str, str]) -> Model:
    """The model that the command line names; a key alone chooses nothing.

    `up` also takes the name from FILEWRIGHT_MODEL; `demo` only from `--model`. Raises Stopped (2) where a real model has no key.
    """
    name = options.model or (environment.get("FILEWRIGHT_MODEL", "") if options.command == "up" else "") or OFFLINE
    ceiling = options.max_dollars
    if ceiling is None:
        ceiling = _number(environment.get("FILEWRIGHT_MAX_DOLLARS") or str(DOLLARS))
    if not 0 < ceiling < math.inf:
        print(
            "the ceiling (--max-dollars or FILEWRIGHT_MAX_DOLLARS) must be a number of dollars above 0", file=sys.stderr
        )
        raise Stopped(CANNOT_WORK)
    if name == OFFLINE:
        return Model(OFFLINE, ceiling)
    key = environment.get(KEY, "")
    if not key:
        print(
            f"{name} needs a key in {KEY}; without --model the offline model works and costs nothing.", file=sys.stderr
        )
        raise Stopped(CANNOT_WORK)
    return Model(name, ceiling, key)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def ready(options: argparse.Namespace, given: Sequence[str], model: Model | None = None) -> Environment:
    """Bootstrap where needed, then run the same command line again inside the environment; returns there."""
    environment = expected()
    if environment.current() and environment.complete() and not options.only_print:
        return environment
    made = bootstrap(yes=options.yes, only_print=options.only_print, model=str(model or Model()))
    made.enter(given)
    raise AssertionError("exec returned")


def _run(options: argparse.Namespace, given: Sequence[str]) -> int:
    surroundings = dict(os.environ)
    model = chosen_model(options, surroundings)
    environment = ready(options, given, model)
    from infra import local

    with local.errors_as_exit():
        if model.real:
            from tasks.agent.models import find_model

            # Before anything starts: a model without a price in the table could not be stopped at a ceiling.
            find_model(model.name)
            print(f"Model: {model}", flush=True)
        up = local.up(environment, home(), surroundings, model)
        if options.command == "up":
            lines, _ = local.status_lines(home())
            print("\n".join(lines))
            print('Prefect\'s command line: eval "$(python3 -m infra env)"; stop everything: python3 -m infra down')
            return 0
        from infra.demo import Job, run_demo

        code = run_demo(up, Job(options.corpus, options.report_id, options.quarter, options.department))
        if options.down:
            for line in local.down(home()):
                print(line)
        else:
            _say_what_runs(up)
        return code


def _say_what_runs(up: object) -> None:
    from infra.local import Up

    assert isinstance(up, Up)
    print(f"The services keep running. Prefect: {up.installation.prefect_address} (password: python3 -m infra env);")
    print(f"portal: {up.installation.portal_address}. Stop them: python3 -m infra down")
