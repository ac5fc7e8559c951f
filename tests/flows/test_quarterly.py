"""Quarterly starts one filing run per department, and a second start of the same quarter starts nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun
from prefect.states import Crashed

from flows.filing import filing
from flows.quarterly import quarterly
from tests.conftest import Database


@pytest.fixture
def deployed(environment: Path) -> Iterator[None]:
    """filing/filing as a deployment that no worker serves: runs stay scheduled."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists

    with get_client(sync_client=True) as client:
        try:
            client.create_work_pool(WorkPoolCreate(name="filing", type="process"))
        except ObjectAlreadyExists:
            client.read_work_pool("filing")
        flow_id = client.create_flow(filing)
        deployment = client.create_deployment(flow_id, "filing", work_pool_name="filing", tags=["quarter-test"])
        yield
        client.delete_deployment(deployment)


def started() -> list[FlowRun]:
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=["quarter-test"])))


def test_one_run_per_department_however_often_it_starts(deployed: None, database: Database) -> None:
    for _ in range(2):
        state = quarterly(departments=["Pharmacy", "Oncology"], quarter="Q3 2025", return_state=True)
        assert state.is_completed(), state.message
    assert {run.parameters["report_id"] for run in started()} == {"QI-2025-314", "QI-2025-316"}
    assert len(started()) == 2
    assert {run.idempotency_key for run in started()} == {"qi-report/QI-2025-314:1", "qi-report/QI-2025-316:1"}
    assert "file QI-2025-314 Q3 2025 Pharmacy" in {run.name for run in started()}


def test_without_an_open_index_nothing_starts(deployed: None, environment: Path) -> None:
    before = len(started())
    (environment / "sample" / "golden.jsonl").unlink()
    state = quarterly(departments=["Pharmacy"], quarter="Q2 2025", return_state=True)
    assert state.is_failed() and "No index" in str(state.message)
    assert len(started()) == before


@pytest.mark.parametrize("departments", [[], ["Pharmacy", "Pharmacy"], ["Plumbing"]])
def test_a_wrong_list_of_departments_is_refused(deployed: None, departments: list[str]) -> None:
    before = len(started())
    state = quarterly(departments=departments, quarter="Q1 2025", return_state=True)
    assert state.is_failed()
    assert len(started()) == before


def test_a_run_that_died_before_it_claimed_anything_is_started_again(deployed: None) -> None:
    assert quarterly(departments=["Cardiology"], quarter="Q4 2024", return_state=True).is_completed()
    (first,) = [run for run in started() if run.parameters["report_id"] == "QI-2024-415"]
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(first.id, Crashed(), force=True)
    assert quarterly(departments=["Cardiology"], quarter="Q4 2024", return_state=True).is_completed()
    keys = {run.idempotency_key for run in started() if run.parameters["report_id"] == "QI-2024-415"}
    assert keys == {"qi-report/QI-2024-415:1", "qi-report/QI-2024-415:1.1"}


def test_a_report_that_was_filed_under_another_id_is_not_filed_twice(deployed: None, database: Database) -> None:
    with psycopg.connect(database.owner_url) as connection:
        connection.execute(
            "INSERT INTO ledger.filings (id, corpus, form, report_id, quarter, department, state) VALUES "
            "('qi-report/QI-2024-014', 'sample', 'qi-report', 'QI-2024-014', 'Q3 2024', 'Pharmacy', 'submitted')"
        )
    assert quarterly(departments=["Pharmacy"], quarter="Q3 2024", return_state=True).is_completed()
    assert {r.parameters["report_id"] for r in started() if r.parameters["quarter"] == "Q3 2024"} == {"QI-2024-014"}
