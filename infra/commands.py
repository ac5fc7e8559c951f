"""The command line: which words there are, and which module answers.

Only what needs nothing but the standard library is imported here; the rest is imported once we run inside the environment.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.bootstrap import CANNOT_WORK, Stopped, bootstrap
from infra.environment import Environment, expected
from infra.places import home
from infra.services import KEY, OFFLINE, Model

DOLLARS = 2.0

# Which module answers; each has run(options, environment) -> exit code.
RETRIEVAL = {
    "search": "infra.search_command",
    "evaluate": "infra.evaluate_command",
    "sweep": "infra.sweep",
    "new": "infra.new_corpus",
    "suggest-golden": "infra.suggest_golden",
    "bench": "infra.bench_retrieval",
    "bench retrieval": "infra.bench_retrieval",
    "bench ingest": "infra.bench_ingest",
    "explain": "infra.explain_command",
}
_SEARCH_EXAMPLE = """example:
  python3 -m infra search --corpus sample --as-of 2025-09-30 "Until when do pharmacies have to be compliant?"
Exit codes: 0 passages were found, 1 no index serves or the services are down, 2 a bad request, 3 nothing was found."""
_EVALUATE_EXAMPLE = """example:
  python3 -m infra evaluate --corpus sample --json
Exit codes: 0 evaluated, 1 no index serves or the services are down, 2 a bad request."""
_SWEEP_EXAMPLE = """example:
  python3 -m infra sweep --corpus sample --plot sweep.png
Exit codes: 0 measured, 1 it could not be, 2 a bad request."""
_NEW_EXAMPLE = """example:
  python3 -m infra new corpus ~/policies --name policies
Exit codes: 0 made, 1 it could not be made, 2 a bad request."""
_SUGGEST_EXAMPLE = """examples:
  python3 -m infra suggest-golden --corpus policies --count 30
  python3 -m infra suggest-golden --corpus policies --accept policies-draft-3 policies-draft-5
The rules look for whole sentences with a date, an identifier, a cite, an amount of money or a percentage.
Exit codes: 0 done, 1 it could not be done, 2 a bad request."""
_BENCH_EXAMPLE = """examples:
  python3 -m infra bench retrieval --chunks 100000
  python3 -m infra bench ingest
100,000 chunks take some minutes. Exit codes: 0 measured, whatever the figures, 1 it could not be, 2 a bad request."""

_EXPLAIN_EXAMPLE = """example:
  echo '{"call": {"toolset_name": "computer", "name": "left_click", "input": {"coordinate": [512, 400]}},
         "under": {"role": "button", "name": "Submit report", "box": [480, 390, 80, 24]}, "field_text": "March 25, 2020",
         "passages": [{"document": "rule.pdf", "page": 2, "text": "effective March 24, 2020"}],
         "facts": {"quarter": "Q3 2025"}, "origins": ["http://127.0.0.1:8080"], "approver": true}' > click.json
  python3 -m infra explain click.json --json
Exit codes: 0 answered, 2 the file is not as it must be: what and where."""


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

    _retrieval(commands)
    explain = _word(commands, "explain", "what the action policy would decide about one call", _EXPLAIN_EXAMPLE)
    explain.add_argument("file", type=Path, metavar="FILE.json", help="the call and its scene; - is standard input")

    test = commands.add_parser("test", help="linters, types, import rules and the whole test suite")
    _installing(test)
    test.add_argument("pytest", nargs="*", help="passed on to pytest, after --")
    return words


def _retrieval(commands: Any) -> None:
    """The words about corpora and their indexes; each says an example, and prints JSON on request."""
    search = _word(commands, "search", "the passages that the agent would get for a question", _SEARCH_EXAMPLE)
    search.add_argument("question")
    search.add_argument("--corpus", required=True, help="folder below corpus/")
    search.add_argument("--k", type=_count, default=4, help="passages at the most (default %(default)s)")
    search.add_argument("--as-of", type=_day, metavar="DATE", help="only what was in force on this day, as 2025-09-30")
    search.add_argument(
        "--document", action="append", default=[], metavar="NAME", help="only this document; repeatable"
    )

    evaluate = _word(commands, "evaluate", "the index gate's table for the index that serves", _EVALUATE_EXAMPLE)
    evaluate.add_argument("--corpus", required=True, help="folder below corpus/")
    evaluate.add_argument("--golden", type=Path, metavar="FILE.jsonl", help="other questions than the corpus' own")

    sweep = _word(
        commands, "sweep", "chunk size and overlap against model and ranking, as table and plot", _SWEEP_EXAMPLE
    )
    sweep.add_argument("--corpus", default="sample", help="folder below corpus/ (default %(default)s)")
    sweep.add_argument("--plot", type=Path, metavar="FILE.png", help="where the plot goes")

    new = _word(commands, "new", "a corpus folder from a folder of files", _NEW_EXAMPLE)
    new.add_argument("what", choices=["corpus"])
    new.add_argument("folder", type=Path, metavar="DIR", help="the files; they are copied")
    new.add_argument("--name", help="name of the corpus (default: from the folder's name)")
    new.add_argument("--into", type=Path, metavar="FOLDER", help="where the corpus goes (default: the corpus folder)")

    suggest = _word(commands, "suggest-golden", "draft questions for a person to accept or drop", _SUGGEST_EXAMPLE)
    suggest.add_argument("--corpus", required=True, help="folder below corpus/")
    suggest.add_argument("--count", type=_count, default=20, help="drafts at the most (default %(default)s)")
    suggest.add_argument("--list", action="store_true", help="show the drafts that wait")
    suggest.add_argument("--accept", nargs="+", default=[], metavar="ID", help="these drafts count from now on")
    suggest.add_argument("--drop", nargs="+", default=[], metavar="ID", help="remove these drafts")

    bench = _word(commands, "bench", "measure retrieval or ingest against a baseline of the same run", _BENCH_EXAMPLE)
    bench.add_argument("what", choices=["retrieval", "ingest"])
    bench.add_argument(
        "--chunks", type=_counts, default=[10_000, 100_000], help="retrieval: sizes (default 10000,100000)"
    )
    bench.add_argument("--pages", type=_count, help="ingest: a made-up PDF of so many pages, with its memory")
    bench.add_argument("--embed", action="store_true", help="ingest: embed the made-up PDF too")


def _word(commands: Any, name: str, says: str, example: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=says, description=says, epilog=example, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _installing(command)
    command.add_argument(
        "--json", action="store_true", help="one JSON value on standard output, everything else on standard error"
    )
    return command


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _counts(text: str) -> list[int]:
    try:
        return [_count(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"sizes are written like 10000,100000, not {text!r}") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a day is written like 2025-09-30, not {text!r}") from None


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
        if options.command == "demo":
            print("So does a filing that is under way: run the demo again to watch it to its end.", file=sys.stderr)
        return 130


def _answer(options: argparse.Namespace, given: Sequence[str]) -> int:
    if options.command == "test":
        environment = ready(options, given)
        from infra.suite import run_suite

        return run_suite(environment, os.environ, options.pytest)
    if options.command in {"demo", "up"}:
        return _run(options, given)
    if options.command in RETRIEVAL:
        return _retrieve(options, given)
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


def _retrieve(options: argparse.Namespace, given: Sequence[str]) -> int:
    """One of the words about corpora and indexes; those that look into an index do it as the read-only role."""
    if options.command == "new" and not options.folder.is_dir():
        print(f"{options.folder} is no folder: name one that has the documents in it.", file=sys.stderr)
        raise Stopped(CANNOT_WORK)
    environment = ready(options, given, packages_only=True)
    from infra import local, session

    refuse_bad_settings()
    if hasattr(options, "corpus"):
        refuse(lambda: refuse_unknown_corpus(options.corpus))
    with local.errors_as_exit():
        word = f"{options.command} {options.what}" if options.command == "bench" else options.command
        if options.command in {"search", "evaluate"}:
            session.use_installation(home())
        return int(import_module(RETRIEVAL[word]).run(options, environment))
    raise AssertionError("errors become an exit code")


def refuse_unknown_corpus(name: str) -> None:
    """Raise PermanentError where the corpus folder has no corpus of that name, with those that it has."""
    from tasks.domain.errors import PermanentError
    from tasks.settings import CorpusSettings

    # Not settings(): what it has read once it keeps, and the database's address is yet to be set.
    root = CorpusSettings().corpus_folder
    known = sorted(path.parent.name for path in root.glob("*/corpus.toml"))
    if name not in known:
        raise PermanentError(f"There is no corpus {name!r} in {root}. There: {', '.join(known) or 'none'}.")


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


def ready(
    options: argparse.Namespace, given: Sequence[str], model: Model | None = None, *, packages_only: bool = False
) -> Environment:
    """Bootstrap where needed, then run the same command line again inside the environment; returns there.

    With `packages_only` an environment that is there is enough: nothing else of the machine (screen, browser) is tried.
    """
    environment = expected()
    if environment.complete() and not options.only_print:
        if environment.current():
            return environment
        if packages_only:
            environment.enter(given)
    # Standard output is the answer's.
    with redirect_stdout(sys.stderr) if hasattr(options, "json") else nullcontext():
        made = bootstrap(yes=options.yes, only_print=options.only_print, model=str(model or Model()))
    made.enter(given)
    raise AssertionError("exec returned")


def _run(options: argparse.Namespace, given: Sequence[str]) -> int:
    surroundings = dict(os.environ)
    model = chosen_model(options, surroundings)
    environment = ready(options, given, model)
    from infra import local

    refuse_bad_settings()
    with local.errors_as_exit():
        job = None
        if options.command == "demo":
            from infra.demo import Job, refuse_bad_request
            from tasks.settings import settings

            job = Job(options.corpus, options.report_id, options.quarter, options.department)
            refuse(lambda: refuse_bad_request(job, settings().corpus.corpus_folder, date.today()))
        if model.real:
            from tasks.agent.models import find_model

            # Before anything starts: a model without a price in the table could not be stopped at a ceiling.
            find_model(model.name)
            print(f"Model: {model}", flush=True)
        up = local.up(environment, home(), surroundings, model)
        if job is None:
            lines, _ = local.status_lines(home())
            print("\n".join(lines))
            print('Prefect\'s command line: eval "$(python3 -m infra env)"; stop everything: python3 -m infra down')
            return 0
        from infra.demo import run_demo

        code = run_demo(up, job)
        if options.down:
            for line in local.down(home()):
                print(line)
        else:
            _say_what_runs(up)
        return code


def refuse_bad_settings() -> None:
    """Name every setting that has no right value, and end with exit code 2; nothing was started."""
    from pydantic import ValidationError

    from tasks.settings import Settings

    try:
        Settings()
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            print(f"FILEWRIGHT_{str(problem['loc'][0]).upper()}: {problem['msg']}", file=sys.stderr)
        raise Stopped(CANNOT_WORK) from None


def refuse(check: Callable[[], None]) -> None:
    """Run a check of what was asked for; what it raises for a person becomes a line and exit code 2."""
    from tasks.domain.errors import PermanentError

    try:
        check()
    except PermanentError as error:
        print(error, file=sys.stderr)
        raise Stopped(CANNOT_WORK) from None


def _say_what_runs(up: object) -> None:
    from infra.local import Up

    assert isinstance(up, Up)
    print(f"The services keep running. Stop them: python3 -m infra down. Portal: {up.installation.portal_address}")
    print(f"Prefect: {up.installation.prefect_address}. It asks for one text to log in: the whole value of")
    print("PREFECT_API_AUTH_STRING that `python3 -m infra env` prints.")
