"""From a bare checkout to a working environment: look, say, ask, do, look again.

Rules:
- everything is looked at and printed before anything changes;
- what cannot work ends it with exit code 2, before any download;
- it asks, unless it was told `--yes` or there is nobody to ask (root in a container, in CI, or without a terminal);
- what it may not do itself (apt without root or sudo) it prints as the exact command, and ends with exit code 2.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infra import probes
from infra.environment import Environment, InstallationFailed, build_with, expected, make, run
from infra.host import Host
from infra.lock import torch_pin
from infra.places import Home, home
from infra.probes import Found, State
from infra.torch_build import choose

APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300")
CANNOT_WORK = 2
OFFLINE = "offline: a local stand-in that costs nothing; no key is used"


class Stopped(SystemExit):
    """Ends the command with an exit code after its message was printed."""


@dataclass(frozen=True)
class Plan:
    """What was found, and what would be done about it."""

    found: tuple[Found, ...]
    environment: Environment
    # The words before apt-get ("sudo -n"), or None where apt cannot be used.
    apt: tuple[str, ...] | None
    notes: tuple[str, ...] = field(default=())

    @property
    def impossible(self) -> tuple[Found, ...]:
        return tuple(item for item in self.found if item.state is State.IMPOSSIBLE)

    @property
    def packages(self) -> tuple[str, ...]:
        """apt packages to install, each once, in the order found."""
        return tuple(dict.fromkeys(package for item in self.found for package in item.packages))

    @property
    def makes_environment(self) -> bool:
        return any(item.name == "environment" and item.state is State.MISSING for item in self.found)

    @property
    def nothing_to_do(self) -> bool:
        return not self.packages and not self.makes_environment


def apt_commands(words: Sequence[str], packages: Sequence[str]) -> list[list[str]]:
    """The two commands that install `packages`, without a question and waiting for another apt to end."""
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    return [
        [*words, *quiet, *APT, "update"],
        [*words, *quiet, *APT, "install", "--yes", "--no-install-recommends", *packages],
    ]


def look(host: Host, place: Home | None = None, environment: Environment | None = None) -> Plan:
    """Run every probe. The cheap ones that end everything come first, so that a hopeless machine answers at once."""
    place = place or home(host.environment)
    environment = environment or expected()
    found = [probes.system(host), probes.python(host)]
    words, who = probes.rights(host)
    if any(item.state is State.IMPOSSIBLE for item in found):
        return Plan(tuple(found), environment, None)
    database_url = host.environment.get("FILEWRIGHT_DATABASE_URL", "")
    complete = environment.complete()
    if not complete:
        found.append(probes.virtual_environments(host))
    found += probes.packages(host, environment, database_url)
    found += probes.database(database_url)
    found += [
        probes.display(host),
        probes.browser(host),
        probes.accessibility(host),
        probes.characters(host),
        probes.fonts(host),
    ]
    if not complete:
        found.append(probes.space(environment.folder, probes.ENVIRONMENT_BYTES, "disk (environment)"))
    found.append(probes.space(place.folder, probes.STATE_BYTES, "disk (state)"))
    apt = tuple(words) if words is not None and host.which("apt-get") else None
    if apt is None and host.which("apt-get") is None:
        who += ", and there is no apt-get"
    return Plan(tuple(found), environment, apt, (who,))


def download_size(host: Host, packages: Sequence[str]) -> str:
    """apt's own words about a download it was asked to simulate, such as "79.1 MB to fetch, 260 MB on disk"."""
    said = host.run(["apt-get", "install", "--assume-no", "--no-install-recommends", *packages], seconds=60)
    fetch = re.search(r"Need to get ([\d.,]+ ?[kMG]?B)", said.output)
    disk = re.search(r"After this operation, ([\d.,]+ ?[kMG]?B) of additional", said.output)
    if fetch is None:
        # An empty package list (a fresh container) knows no sizes; these were measured on Debian 12.
        return "about 120 MB to fetch, 400 MB on disk; apt says more once its lists are there"
    return f"{fetch[1]} to fetch" + (f", {disk[1]} on disk" if disk else "")


def show(plan: Plan, host: Host, model: str, print_: Callable[[str], None] = print) -> None:
    """Print what was found, what will be done, and which model works."""
    width = max(len(item.name) for item in plan.found)
    print_("Found:")
    for item in plan.found:
        print_(f"  {item.name:<{width}}  {item.state.value:<10}  {item.text}")
        if item.remedy:
            print_(f"  {'':<{width}}  {'':<10}  → {item.remedy}")
    for note in plan.notes:
        print_(f"  {'rights':<{width}}  {State.OK.value:<10}  {note}")
    print_(f"  {'model':<{width}}  {State.OK.value:<10}  {model}")
    if plan.impossible:
        return
    print_("Will do:")
    if plan.nothing_to_do:
        print_("  nothing: everything is installed")
    if plan.packages:
        for command in apt_commands(("sudo",) if plan.apt is None else plan.apt, plan.packages):
            print_(f"  {shlex.join(command)}")
        print_(f"    ({download_size(host, plan.packages)})")
    if plan.makes_environment:
        print_(
            f"  make a Python environment in {plan.environment.folder} from requirements.lock (about 1 GB to fetch, 3 GB on disk)"
        )


def bootstrap(
    *,
    host: Host | None = None,
    model: str = OFFLINE,
    yes: bool = False,
    only_print: bool = False,
    place: Home | None = None,
    environment: Environment | None = None,
) -> Environment:
    """Bring the machine to the point where everything else can run; returns the environment.

    Raises Stopped: 0 after `only_print`, 1 where a step failed or the answer was no, 2 where it cannot work here.
    """
    host = host or Host()
    plan = look(host, place, environment)
    quiet = plan.nothing_to_do and not plan.impossible and not only_print
    if quiet:
        print(f"Everything is installed ({plan.environment.folder}); model: {model}", flush=True)
        return plan.environment
    show(plan, host, model, lambda line: print(line, flush=True))
    if plan.impossible:
        print("This cannot work here as things are; nothing was changed.", file=sys.stderr)
        raise Stopped(CANNOT_WORK)
    if plan.packages and plan.apt is None:
        print(
            "System packages are missing, and apt cannot be used from here. Run this, then start again:",
            file=sys.stderr,
        )
        for command in apt_commands(("sudo",), plan.packages):
            print(f"  {shlex.join(command)}", file=sys.stderr)
        raise Stopped(CANNOT_WORK)
    if only_print:
        raise Stopped(0)
    agree("Go on?", yes or host.unattended)
    try:
        if plan.packages:
            _install_packages(plan, host)
            # What could not be asked before (an index, without a pip to ask with) is asked now, before anything bigger is fetched.
            blocked = look(host, place, plan.environment).impossible
            for item in blocked:
                print(f"cannot work here: {item.name}: {item.text} → {item.remedy}", file=sys.stderr)
            if blocked:
                raise Stopped(CANNOT_WORK)
        if plan.makes_environment:
            build = build_with(lambda target, log: _install_torch(target, log, yes or host.unattended), _say)
            make(plan.environment, build, _say)
    except InstallationFailed as failure:
        print(failure, file=sys.stderr)
        raise Stopped(1) from failure
    _look_again(host, plan, place)
    return plan.environment


def agree(question: str, assumed: bool) -> None:
    """Return if a person says yes (or `assumed`); raises Stopped otherwise."""
    if assumed:
        return
    if not sys.stdin.isatty():
        print(f"{question} There is no terminal to ask at: say --yes to agree beforehand.", file=sys.stderr)
        raise Stopped(CANNOT_WORK)
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        print("Nothing was changed." if question == "Go on?" else "Stopped.", file=sys.stderr)
        raise Stopped(1)


def _say(line: str) -> None:
    print(f"• {line}", flush=True)


def _install_packages(plan: Plan, host: Host) -> None:
    assert plan.apt is not None
    update, install = apt_commands(plan.apt, plan.packages)
    log = plan.environment.folder.parent / "apt.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    _say("apt-get update")
    run(update, "apt-get update", log, host.environment)
    # With the lists there, apt can say without a download whether every package exists here.
    tried = host.run(["apt-get", "install", "--simulate", "--no-install-recommends", *plan.packages], seconds=120)
    if not tried.worked:
        print(f"apt cannot install this here: {tried.last_line}", file=sys.stderr)
        if "firefox-esr" in plan.packages and "firefox-esr" in tried.errors:
            print(
                "This system has no firefox-esr (Ubuntu ships a snap instead, which cannot be driven). Install Mozilla's own build, "
                "for example from its apt repository, and set FILEWRIGHT_BROWSER to its path.",
                file=sys.stderr,
            )
        raise Stopped(CANNOT_WORK)
    _say(f"apt-get install {' '.join(plan.packages)} ({download_size(host, plan.packages)})")
    run(install, "apt-get install", log, host.environment)


def _install_torch(target: Environment, log: Path, agreed: bool) -> str:
    choice = choose(str(target.python), str(target.binaries / "uv"), torch_pin())
    _say(choice.note)
    if choice.heavy:
        agree("Fetch the CUDA build?", agreed)
    run(list(choice.command), "installing torch", log)
    return f"{torch_pin()} by {choice.means}"


def _look_again(host: Host, before: Plan, place: Home | None) -> None:
    """An installation that reported success and still does not work is named, not hoped away."""
    after = look(host, place, before.environment)
    left = [item for item in after.found if item.state in (State.MISSING, State.IMPOSSIBLE)]
    for item in left:
        print(f"still not working: {item.name}: {item.text} {item.remedy}".rstrip(), file=sys.stderr)
    if left:
        raise Stopped(1)
