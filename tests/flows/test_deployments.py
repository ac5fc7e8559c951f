"""prefect.yaml says what the code has: entry points, parameters, pools, schedule, trigger."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import yaml
from prefect.flows import Flow
from prefect.utilities.callables import parameter_schema

from tests.conftest import REPOSITORY

DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text(encoding="utf-8"))[
    "deployments"
]


def flow_of(deployment: dict[str, Any]) -> Flow[..., Any]:
    module, name = deployment["entrypoint"].rsplit(".", 1)
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, Flow)
    return found


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: d["name"])
def test_a_deployment_is_named_like_its_flow_and_sets_only_its_parameters(deployment: dict[str, Any]) -> None:
    flow = flow_of(deployment)
    assert flow.name == deployment["name"]
    schema = parameter_schema(flow.fn)
    assert set(deployment.get("parameters", {})) <= set(schema.properties)
    assert "filewright" in deployment["tags"] and deployment["concurrency_limit"]["limit"] >= 1
    assert deployment["work_pool"]["job_variables"]["stream_output"] is False


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: d["name"])
def test_every_parameter_is_described_for_the_form(deployment: dict[str, Any]) -> None:
    for name, parameter in parameter_schema(flow_of(deployment).fn).properties.items():
        assert parameter.get("description"), f"{deployment['name']}: {name}"
        assert not any(word in name for word in ("key", "password", "secret", "token", "url"))


def test_only_verify_runs_in_the_audit_pool() -> None:
    assert {d["name"] for d in DEPLOYMENTS if d["work_pool"]["name"] == "audit"} == {"verify"}


def test_the_quarterly_schedule_is_in_a_named_time_zone() -> None:
    (quarterly,) = [d for d in DEPLOYMENTS if d["name"] == "quarterly"]
    (schedule,) = quarterly["schedules"]
    assert (schedule["cron"], schedule["timezone"]) == ("0 9 1 1,4,7,10 *", "America/New_York")


def test_a_filed_report_triggers_verify_and_one_filed_before_does_not() -> None:
    (verify,) = [d for d in DEPLOYMENTS if d["name"] == "verify"]
    (trigger,) = verify["triggers"]
    assert trigger["expect"] == ["prefect.flow-run.Completed"]
    assert set(trigger["parameters"]) <= set(parameter_schema(flow_of(verify).fn).properties)
