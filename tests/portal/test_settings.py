"""Settings and questions: read once, checked, documented; and the process that serves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from portal.pages import FOLDER
from portal.questions import load_questions
from portal.settings import PortalSettings

from .conftest import ANSWERS, Records, serving

REWORDED = """
[[questions]]
key = "citation"
label = "Name the page that you rely on."
[[questions]]
key = "compliance_date"
label = "Last day to comply?"
[[questions]]
key = "ncpdp_field"
label = "Which field?"
[[questions]]
key = "effective_date"
label = "First day in force?"
"""


def test_every_setting_is_documented_in_the_code_and_in_the_readme() -> None:
    """The README's table has exactly the settings that there are, with their defaults."""
    fields = PortalSettings.model_fields
    assert all(field.description for field in fields.values())
    table = dict(re.findall(r"^\| `(PORTAL_[A-Z_]+)` \| (.*?) \|", (FOLDER / "README.md").read_text("utf-8"), re.M))
    assert set(table) == {f"PORTAL_{name.upper()}" for name in fields}
    for name, field in fields.items():
        if not field.is_required() and name != "questions":
            assert table[f"PORTAL_{name.upper()}"] == f"`{field.default}`".replace("``", "empty"), name


def test_only_the_settings_module_reads_the_environment() -> None:
    """Everything else is given values."""
    for path in FOLDER.glob("*.py"):
        if path.name != "settings.py":
            assert not re.search(r"os\.environ|getenv|BaseSettings", path.read_text("utf-8")), path.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 70000},
        {"draft_hours": 0},
        {"database_seconds": -1},
        {"max_body_bytes": 10},
        {"font": "x; } body { display: none"},
        {"font": "url(http://elsewhere.example)"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    """At start, not at the first request."""
    with pytest.raises(ValidationError):
        PortalSettings(database_url="postgresql://", **wrong)  # type: ignore[arg-type]


def test_the_password_in_the_database_url_is_not_shown() -> None:
    """Neither in a log of the settings nor in an error."""
    assert "s3cret" not in repr(PortalSettings(database_url="postgresql://u:s3cret@h/d"))  # type: ignore[arg-type]


def test_the_form_asks_the_four_attestations() -> None:
    """By the keys under which the record keeps them."""
    assert [question.key for question in load_questions(FOLDER / "questions.toml")] == list(ANSWERS)


def test_questions_can_be_reworded_and_reordered(database: Any, records: Records, tmp_path: Path) -> None:
    """The page, the review and the receipt follow the file; the record keeps the keys, and an old receipt its words."""
    with serving(database.portal_url) as site:
        old = site.browser().receipt()
    (tmp_path / "questions.toml").write_text(REWORDED, "utf-8")
    with serving(database.portal_url, questions=tmp_path / "questions.toml") as site:
        browser = site.browser()
        page = browser.attestations(report_id="QI-2025-020")
        labels = [label.get_text() for label in page.soup.select("label")]
        assert labels == [
            "Name the page that you rely on.",
            "Last day to comply?",
            "Which field?",
            "First day in force?",
        ]
        review = browser.send(page, ANSWERS)
        assert list(review.definitions)[-4:] == labels
        receipt = browser.send(review)
        assert receipt.definitions["Last day to comply?"] == ANSWERS["compliance_date"]
        assert browser.get(old.path).definitions == old.definitions
    assert [row["answers"] for row in records.submissions] == [ANSWERS, ANSWERS]


def test_a_draft_that_lacks_an_answer_to_a_new_question_is_not_filed(
    database: Any, records: Records, tmp_path: Path
) -> None:
    """Questions that changed under a draft are asked before it is filed."""
    with serving(database.portal_url) as site:
        review = site.browser().review()
        cookie = review.response.request.headers["cookie"]
    (tmp_path / "questions.toml").write_text(REWORDED + '[[questions]]\nkey = "fifth"\nlabel = "And?"\n', "utf-8")
    with serving(database.portal_url, questions=tmp_path / "questions.toml") as site:
        browser = site.browser()
        browser.client.headers["cookie"] = cookie
        refused = browser.send(review)
        assert refused.status == 422
        assert refused.problems == ["And? Enter an answer."]
    assert records.submissions == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "questions = 3",
        "questions = [1]",
        "[[questions]]\nkey = 'a'",
        "[[questions]]\nkey = 'a'\nlabel = ''",
        "[[questions]]\nkey = 'a'\nlabel = 3",
        "[[questions]]\nkey = 'A b'\nlabel = 'x'",
        "[[questions]]\nkey = 'year'\nlabel = 'x'",
        "[[questions]]\nkey = 'csrf'\nlabel = 'x'",
        "[[questions]]\nkey = 'a'\nlabel = 'x'\nhint = 'y'",
        "[[questions]]\nkey = 'a'\nlabel = 'x'\n[[questions]]\nkey = 'a'\nlabel = 'y'",
        "[[questions]",
        "\x00",
    ],
)
def test_a_questions_file_that_breaks_a_rule_is_refused_by_its_name(text: str, tmp_path: Path) -> None:
    """At start."""
    path = tmp_path / "broken.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        load_questions(path)


def portal_process(root: Path, **settings: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    return subprocess.Popen(
        [sys.executable, "-m", "portal"],
        cwd=root,
        env={**kept, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_portal_runs_as_a_process_and_stops_when_told(database: Any, root: Path) -> None:
    """`python -m portal` with its settings in the environment serves until SIGTERM."""
    process = portal_process(root, PORTAL_DATABASE_URL=database.portal_url, PORTAL_PORT="0")
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"running on (http://127\.0\.0\.1:[0-9]+)", line):
                break
        else:
            pytest.fail("the portal ended before it served")
        assert httpx.get(f"{found[1]}/health", trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        process.wait(10)
        assert time.monotonic() - begun < 8
        assert "Traceback" not in process.stdout.read()
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_a_wrong_setting_ends_the_process_with_its_name(root: Path, tmp_path: Path) -> None:
    """Exit 2, one line per setting, and no value of it (it may be a secret)."""
    for settings, name in (
        ({}, "PORTAL_DATABASE_URL"),
        ({"PORTAL_DATABASE_URL": "postgresql://", "PORTAL_PORT": "s3cret"}, "PORTAL_PORT"),
        ({"PORTAL_DATABASE_URL": "postgresql://", "PORTAL_QUESTIONS": str(tmp_path / "none")}, "PORTAL_QUESTIONS"),
    ):
        process = portal_process(root, **settings)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 2
        assert output.startswith(f"{name}: ") and output.count("\n") == 1, output
        assert "s3cret" not in output


def test_the_portal_stands_alone(root: Path) -> None:
    """Its process loads nothing of the flows or the tasks."""
    code = (
        "import sys, portal.__main__; print([m for m in sys.modules if m.split('.')[0] in ('tasks', 'flows', 'infra')])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
