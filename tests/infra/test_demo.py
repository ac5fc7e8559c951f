"""Following runs through a server that answers like Prefect's, and the table that is read back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from infra.demo import Job, Progress, _under_way, describe, follow, refuse_bad_request
from infra.prefect_api import PrefectApi, PrefectUnavailable
from infra.report import Report, table
from tasks.domain.errors import PermanentError
from tasks.ledger.summary import FilingSummary
from tests.conftest import CORPORA

SUMMARY = FilingSummary(
    filing_id="qi-report/QI-2025-014", state="confirmed", receipt="RCT-1", corpus="sample",
    quarter="Q3 2025", department="Pharmacy", attempt=2, attempts=2, outcome="submitted",
    reason="", model="offline", folder="/state/runs/x", generation=3, chunks=1234, recall_at_4=0.894, turns=9, actions=35,
    searches=3, denied=1, seconds=68.2, tokens=100990, dollars=0.123, last_tool="computer.type", verdict="confirmed",
)  # fmt: skip


def run(kind: str, name: str = "Completed", **more: Any) -> dict[str, Any]:
    return {"id": "1", "name": "a run", "state": {"type": kind, "name": name}, "total_run_time": 12.4, **more}


@dataclass
class Server:
    """Answers requests from a script: (method, path) to a list of (status, JSON), the last of which stays."""

    script: dict[tuple[str, str], list[tuple[int, Any]]] = field(default_factory=dict)
    seen: list[tuple[str, str, Any, str]] = field(default_factory=list)
    address: str = ""

    def answer(self, method: str, path: str, body: Any, auth: str) -> tuple[int, Any]:
        self.seen.append((method, path, body, auth))
        answers = self.script.get((method, path), [(404, {"detail": "nothing here"})])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    @property
    def api(self) -> PrefectApi:
        return PrefectApi(self.address, "user:pass")


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, value = found.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PATCH = do_GET

        def log_message(self, *_: object) -> None:
            """Quiet."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    found.address = f"http://127.0.0.1:{web.server_port}"
    threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
    yield found
    web.shutdown()
    web.server_close()


def test_a_run_is_followed_to_its_end_through_an_outage(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """An error of the server in between is not the run's end."""
    ended = run("COMPLETED", state={"type": "COMPLETED", "name": "AlreadyFiled", "message": "filed before"})
    server.script["GET", "/api/flow_runs/1"] = [(200, run("RUNNING")), (503, {}), (503, {}), (200, ended)]
    assert follow(server.api, "1", lambda known: "at work") == ended
    shown = capsys.readouterr().out
    assert "at work" in shown and "AlreadyFiled after 12 s: filed before" in shown
    assert {auth for *_, auth in server.seen} == {"Basic dXNlcjpwYXNz"}


def test_a_server_that_stays_away_ends_the_demo(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute; here after a moment."""
    monkeypatch.setattr("infra.demo.PATIENCE_SECONDS", 0.6)
    server.script["GET", "/api/flow_runs/1"] = [(503, {})]
    with pytest.raises(PrefectUnavailable, match="503"):
        follow(server.api, "1", lambda known: "")


def test_progress_of_a_filing_comes_from_the_ledger_and_of_others_from_prefect(server: Server) -> None:
    """Turn, actions, searches and the last step; tasks done and under way."""
    tasks = [run("COMPLETED"), {**run("RUNNING"), "name": "embed a.pdf"}]
    server.script["POST", "/api/task_runs/filter"] = [(200, tasks)]
    going = replace(SUMMARY, outcome=None)
    text = describe(server.api, "filing", lambda: going)(run("RUNNING", "Running"))
    assert text == "turn 9, 35 actions, 3 searches, 68 s, last: computer.type"
    assert (
        describe(server.api, "ingest", lambda: None)(run("RUNNING", "Running")) == "1 of 2 tasks done, now embed a.pdf"
    )
    assert "waiting" in describe(server.api, "ingest", lambda: None)(run("SCHEDULED", "Scheduled"))


def test_a_filing_under_way_is_watched_instead_of_started_again(server: Server) -> None:
    """Only the same form and report count."""
    other = run("RUNNING", parameters={"form": "qi-report", "report_id": "QI-2025-015"})
    same = run("RUNNING", parameters={"form": "qi-report", "report_id": "QI-2025-014", "corpus": "hipaa"})
    server.script["POST", "/api/flow_runs/filter"] = [(200, [other]), (200, [other, same])]
    assert _under_way(server.api, "filing", Job()) is None
    assert _under_way(server.api, "filing", Job()) == same


def test_a_missing_pool_is_made_and_a_known_one_updated(server: Server) -> None:
    """Safe to repeat."""
    server.script["POST", "/api/work_pools/"] = [(201, {})]
    server.api.set_pool("filing", {"a": 1})
    assert [(method, path) for method, path, *_ in server.seen] == [
        ("PATCH", "/api/work_pools/filing"), ("POST", "/api/work_pools/"),
    ]  # fmt: skip
    server.script["PATCH", "/api/work_pools/filing"] = [(200, None)]
    server.api.set_pool("filing", {"a": 1})
    assert len(server.seen) == 3


def test_only_a_confirmed_verdict_and_a_completed_verify_run_confirm() -> None:
    """Each alone does not, and neither does the filing's success."""
    done = {"ingest": run("COMPLETED"), "filing": run("COMPLETED"), "verify": run("COMPLETED")}
    assert Report(done, SUMMARY, "").confirmed
    for verdict in ("refuted", "indeterminate", None):
        assert not Report(done, replace(SUMMARY, verdict=verdict), "").confirmed
    assert not Report({**done, "verify": run("FAILED", "Failed")}, SUMMARY, "").confirmed
    assert not Report({"ingest": run("COMPLETED"), "filing": run("FAILED", "Failed")}, SUMMARY, "").confirmed
    assert not Report(done, None, "").confirmed


def test_the_table_holds_everything_that_was_promised() -> None:
    """Chunks, recall, turns, actions, searches, seconds, tokens, cost, receipt, verdict, the record's folder, the UI's address."""
    report = Report({"verify": run("COMPLETED", name="Completed")}, SUMMARY, "http://127.0.0.1:4200")
    text = "\n".join(table(report))
    for part in ("1,234", "0.89", "turns", "35, 1 refused", "searches", "68", "100,990", "0.12 US dollars", "nothing was paid", "RCT-1",
                 "confirmed", "/state/runs/x", "http://127.0.0.1:4200", "2 of 2: submitted"):  # fmt: skip
        assert part in text, part
    assert "nothing was paid" not in "\n".join(
        table(replace(report, summary=replace(SUMMARY, model="claude-opus-5-5")))
    )


def test_a_filing_that_the_ledger_does_not_know_still_gets_a_table() -> None:
    """Ingest failed before there was one."""
    text = "\n".join(table(Report({"ingest": run("FAILED", "Failed")}, None, "http://x")))
    assert "Failed" in text and "knows nothing" in text


def test_progress_on_a_terminal_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere it is a line now and then."""
    progress = Progress(terminal=True)
    progress.show("one")
    progress.show("two")
    progress.close("done")
    assert capsys.readouterr().out == "\r\033[K  one\r\033[K  two\r\033[K  done\n"
    quiet = Progress(terminal=False)
    quiet.show("one")
    quiet.show("two")
    quiet.close("done")
    assert capsys.readouterr().out == "  one\n  done\n"


def test_parameters_are_small_and_named_as_the_flows_name_them() -> None:
    """They are the form that a person fills in Prefect."""
    import inspect

    from flows.filing import filing
    from flows.ingest import ingest
    from flows.verify import verify

    for flow in (ingest, filing, verify):
        assert set(Job().parameters(flow.name)) <= set(inspect.signature(flow.fn).parameters)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(corpus="nonsense"), "there are hipaa, sample"),
        (Job(corpus="../corpus/sample"), "There is no corpus"),
        (Job(report_id="QI-2025"), "not of the form"),
        (Job(quarter="Q5 2025"), "not of the form"),
        (Job(report_id="QI-2099-001", quarter="Q1 2099"), "has not begun"),
        (Job(department="Plumbing"), "no department"),
        (Job(report_id="QI-2024-014"), "does not begin with QI-2025"),
    ],
)
def test_a_request_that_the_form_would_refuse_is_refused_before_anything_starts(job: Job, words: str) -> None:
    with pytest.raises(PermanentError, match=words):
        refuse_bad_request(job, CORPORA, date(2026, 11, 30))


def test_the_demo_s_own_request_passes() -> None:
    refuse_bad_request(Job(), CORPORA, date(2026, 11, 30))


def test_a_long_reason_is_wrapped_and_a_path_is_not() -> None:
    """The table stays readable on a terminal of ordinary width."""
    reason = "The agent ended: no receipt, and the portal shows no report. " * 5
    lines = table(Report({}, replace(SUMMARY, reason=reason, folder="/" + "x" * 150), "http://127.0.0.1:1"))
    assert [line for line in lines if len(line) > 110] == [next(line for line in lines if "xxx" in line)]
