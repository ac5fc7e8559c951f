"""What each service may know: an allow-list, one database role each, and a key for the filing worker alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infra.allowed import suite_environment
from infra.credentials import Credentials
from infra.environment import Environment
from infra.places import ROOT, Home
from infra.ports import Ports
from infra.postgres import ROLES
from infra.service import Service, differences, service_from_json
from infra.services import Installation, Model, databases, others
from infra.suite import checks
from tasks.settings import settings_table

PASSWORDS = {role: f"password of {role}" for role in ("postgres", *ROLES)}
KEY = "sk-very-secret"
# What a developer's shell may hold.
SHELL = {
    "PATH": "/usr/bin", "HOME": "/home/someone", "LANG": "C.UTF-8", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus", "SSH_AUTH_SOCK": "/run/agent", "AWS_SECRET_ACCESS_KEY": "aws-secret",
    "GITHUB_TOKEN": "gh-secret", "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://elsewhere.example",
    "HTTPS_PROXY": "http://proxy.example:3128", "PYTHONSTARTUP": "/tmp/x.py", "LD_PRELOAD": "/tmp/x.so",
    "FILEWRIGHT_DATABASE_URL": "postgresql://admin:admin-secret@db.example/filewright",
    "FILEWRIGHT_MODEL": "claude-opus-5-5", "FILEWRIGHT_MAX_TURNS": "7", "FILEWRIGHT_CORPUS_MIRROR": "../mirror",
    "PREFECT_API_KEY": "cloud-secret", "PREFECT_API_URL": "https://cloud.example/api", "PORTAL_FONT": "Verdana",
}  # fmt: skip


def installation(model: Model = Model()) -> Installation:  # noqa: B008 - frozen
    return Installation(
        environment=Environment(Path("/envs/one")),
        home=Home(Path("/state")),
        ports=Ports(1001, 1002, 1003, 1004, 1005, 1006),
        credentials=Credentials(PASSWORDS, "filewright:api-secret"),
        databases=databases("127.0.0.1:1001", PASSWORDS, "filewright", "prefect"),
        surroundings=SHELL,
        model=model,
        settings=tuple(row[0] for row in settings_table()),
    )


def by_name(model: Model = Model()) -> dict[str, Service]:  # noqa: B008 - frozen
    return {service.name: service for service in others(installation(model), embedded=True)}


REAL = Model("claude-opus-5-5", 1.5, KEY)


@pytest.mark.parametrize("model", [Model(), REAL])
@pytest.mark.parametrize("name", ["prefect", "portal", "model", "worker-filing", "worker-audit"])
def test_nothing_of_the_users_shell_reaches_a_service_unless_it_is_listed(name: str, model: Model) -> None:
    """No display, bus, agent, token, preload, foreign Prefect, or administrator's database address."""
    seen = by_name(model)[name].environment
    text = json.dumps(dict(seen))
    for secret in ("wayland", ":0\"", "/run/bus", "/run/agent", "aws-secret", "gh-secret", "cloud", "admin-secret", "x.so", "x.py",
                   "elsewhere.example"):  # fmt: skip
        assert secret not in text, secret
    assert seen["PATH"].startswith("/envs/one/bin:")


@pytest.mark.parametrize(
    ("name", "role"),
    [("prefect", "prefect"), ("portal", "filewright_portal"), ("worker-filing", "filewright_filing"),
     ("worker-audit", "filewright_audit"), ("model", None)],
)  # fmt: skip
def test_each_service_has_its_own_role_and_no_other(name: str, role: str | None) -> None:
    """Of all passwords, exactly one; the offline model has none."""
    service = by_name(REAL)[name]
    text = json.dumps([dict(service.environment), service.command]).replace("%20", " ")
    assert [known for known, password in PASSWORDS.items() if f"{password}@" in text] == ([role] if role else [])


def test_only_the_filing_worker_gets_the_key_and_only_for_a_real_model() -> None:
    """The key in the user's shell alone reaches nobody."""
    for service in by_name().values():
        assert KEY not in json.dumps(dict(service.environment))
    holders = [name for name, service in by_name(REAL).items() if KEY in json.dumps(dict(service.environment))]
    assert holders == ["worker-filing"]
    assert by_name()["worker-filing"].environment["FILEWRIGHT_MODEL"] == "offline"


def test_a_real_model_has_no_offline_address_and_a_ceiling() -> None:
    """And the other way round."""
    real, offline = by_name(REAL)["worker-filing"].environment, by_name()["worker-filing"].environment
    assert real["FILEWRIGHT_MODEL"] == "claude-opus-5-5" and real["FILEWRIGHT_MAX_DOLLARS"] == "1.5"
    assert "FILEWRIGHT_MODEL_URL" not in real
    assert offline["FILEWRIGHT_MODEL_URL"] == "http://127.0.0.1:1004"


def test_the_offline_model_knows_nothing_of_ours() -> None:
    """No setting, no corpus, no database, no API: a few harmless names."""
    seen = by_name(REAL)["model"].environment
    assert set(seen) <= {
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "PATH",
        "TMPDIR",
        "TZ",
        "OMP_THREAD_LIMIT",
        "PYTHONUNBUFFERED",
    }


def test_the_audit_worker_knows_neither_portal_nor_model_nor_a_way_out() -> None:
    """It reads the portal's table and the corpus pages, nothing else."""
    seen = by_name(REAL)["worker-audit"].environment
    assert not {
        "FILEWRIGHT_PORTAL_URL",
        "FILEWRIGHT_MODEL",
        "FILEWRIGHT_MODEL_URL",
        "FILEWRIGHT_MAX_TURNS",
        "HTTPS_PROXY",
    } & set(seen)
    assert by_name(REAL)["worker-filing"].environment["HTTPS_PROXY"] == SHELL["HTTPS_PROXY"]


def test_the_users_settings_reach_the_filing_worker_with_absolute_paths() -> None:
    """The services' folder is the repository, not the user's."""
    seen = by_name()["worker-filing"].environment
    assert seen["FILEWRIGHT_MAX_TURNS"] == "7"
    assert Path(seen["FILEWRIGHT_CORPUS_MIRROR"]).is_absolute()
    assert by_name()["portal"].environment["PORTAL_FONT"] == "Verdana"


def test_the_demonstrations_submit_is_approved_unless_the_user_says_otherwise() -> None:
    assert by_name()["worker-filing"].environment["FILEWRIGHT_APPROVAL"] == "auto"
    assert "FILEWRIGHT_APPROVAL" not in by_name()["worker-audit"].environment
    chosen = replace(installation(), surroundings={**SHELL, "FILEWRIGHT_APPROVAL": "none"})
    worker = {service.name: service for service in others(chosen, embedded=True)}["worker-filing"]
    assert worker.environment["FILEWRIGHT_APPROVAL"] == "none"


def test_a_changed_model_differs_in_the_filing_worker_alone_and_is_named() -> None:
    """What `demo` compares with what runs: names, never values."""
    before, after = by_name(), by_name(REAL)
    changed = {name: differences(after[name], before[name].fingerprints()) for name in before}
    assert {name for name, what in changed.items() if what} == {"worker-filing"}
    assert changed["worker-filing"] == [
        "ANTHROPIC_API_KEY", "FILEWRIGHT_MAX_DOLLARS", "FILEWRIGHT_MODEL", "FILEWRIGHT_MODEL_URL",
    ]  # fmt: skip
    assert KEY not in json.dumps(after["worker-filing"].fingerprints())


def test_a_service_survives_the_way_to_the_supervisor() -> None:
    """Written and read back, it is the same."""
    for service in by_name(REAL).values():
        assert service_from_json(json.loads(json.dumps(service.to_json()))) == service
        assert KEY not in repr(service)


def test_a_database_address_keeps_its_options() -> None:
    """TLS settings of a real installation reach every role."""
    found = databases("db.example:6432?sslmode=verify-full", PASSWORDS, "file wright", "prefect")
    assert found.audit.startswith(
        "postgresql://filewright_audit:password%20of%20filewright_audit@db.example:6432/file%20wright"
    )
    assert found.audit.endswith("?sslmode=verify-full")


def test_the_suite_runs_without_keys_and_settings_of_the_user() -> None:
    """`python3 -m infra test` with a key in the shell spends nothing."""
    seen = suite_environment(Environment(Path("/envs/one")), {**SHELL, "FILEWRIGHT_BROWSER": "/opt/firefox/firefox"})
    text = json.dumps(seen)
    assert KEY not in text and "secret" not in text and "FILEWRIGHT_MODEL" not in text and "DISPLAY" not in text
    assert seen["FILEWRIGHT_BROWSER"] == "/opt/firefox/firefox"


def test_the_suite_checks_everything_and_pytest_comes_last() -> None:
    """Its closing line is the last line of CI."""
    names = [name for name, _ in checks(Environment(Path("/envs/one")))]
    assert names == ["ruff", "format", "mypy", "import-linter", "pytest"]
    assert "infra test" in (ROOT / ".ci" / "run").read_text()
