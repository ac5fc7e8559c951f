"""A small client for our own Prefect server's HTTP API: the few requests that the commands here need, without importing Prefect.

Every answer is the API's own JSON. The paths are those of Prefect 3 (`/docs` of a running server lists them).
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

SECONDS = 20.0


class PrefectUnavailable(RuntimeError):
    """The server does not answer, or answers with an error; the message carries both."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class PrefectApi:
    """`address` is the server's, without /api; `auth` is user:password."""

    address: str
    auth: str = field(repr=False)

    def request(self, method: str, path: str, body: Any = None, seconds: float = SECONDS) -> Any:
        """One request; returns the decoded JSON, or None for an empty answer. Raises PrefectUnavailable."""
        request = urllib.request.Request(
            f"{self.address}/api{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Authorization": "Basic " + base64.b64encode(self.auth.encode()).decode(),
            },
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=seconds) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")[:500]
            raise PrefectUnavailable(f"Prefect answers {error.code} to {method} {path}: {said}", error.code) from None
        except OSError as error:
            raise PrefectUnavailable(f"Prefect does not answer at {self.address}: {error}") from error
        return json.loads(text) if text else None

    # ------------------------------------------------------------------------------------------------- pools

    def set_pool(self, name: str, template: dict[str, Any]) -> None:
        """Create the process work pool, or give it this base job template."""
        try:
            self.request("PATCH", f"/work_pools/{name}", {"base_job_template": template})
        except PrefectUnavailable as error:
            if error.status != 404:
                raise
            self.request("POST", "/work_pools/", {"name": name, "type": "process", "base_job_template": template})

    def deployments(self) -> list[str]:
        """Names as the command line writes them: FLOW/DEPLOYMENT."""
        found = self.request("POST", "/deployments/filter", {"limit": 200})
        flows = {flow["id"]: flow["name"] for flow in self.request("POST", "/flows/filter", {"limit": 200})}
        return sorted(f"{flows.get(item['flow_id'], '?')}/{item['name']}" for item in found)

    # -------------------------------------------------------------------------------------------------- runs

    def start(self, deployment: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Create a run of `FLOW/DEPLOYMENT`, to be picked up by its pool's worker."""
        found = self.request("GET", f"/deployments/name/{deployment}")
        body = {"parameters": parameters, "state": {"type": "SCHEDULED", "message": "started by infra"}}
        run: dict[str, Any] = self.request("POST", f"/deployments/{found['id']}/create_flow_run", body)
        return run

    def run(self, run_id: str) -> dict[str, Any]:
        run: dict[str, Any] = self.request("GET", f"/flow_runs/{run_id}")
        return run

    def task_runs(self, run_id: str) -> list[dict[str, Any]]:
        """The run's tasks in the order in which they started."""
        body = {"flow_runs": {"id": {"any_": [run_id]}}, "sort": "EXPECTED_START_TIME_ASC", "limit": 200}
        runs: list[dict[str, Any]] = self.request("POST", "/task_runs/filter", body)
        return runs

    def artifacts(self, run_id: str) -> list[dict[str, Any]]:
        """The run's artifacts, oldest first."""
        body = {"flow_runs": {"id": {"any_": [run_id]}}, "limit": 200}
        found: list[dict[str, Any]] = self.request("POST", "/artifacts/filter", body)
        return sorted(found, key=lambda item: str(item.get("created")))

    def warnings(self, run_id: str, limit: int = 20) -> list[str]:
        """The newest warnings and errors that the run logged, oldest first."""
        body = {
            "logs": {"flow_run_id": {"any_": [run_id]}, "level": {"ge_": 30}},
            "sort": "TIMESTAMP_DESC",
            "limit": limit,
        }
        return [str(line["message"]) for line in reversed(self.request("POST", "/logs/filter", body))]

    def crash(self, run_id: str, message: str) -> None:
        """Say of a run whose process is gone that it has crashed."""
        state = {"type": "CRASHED", "name": "Crashed", "message": message}
        self.request("POST", f"/flow_runs/{run_id}/set_state", {"state": state, "force": True})

    def active(self, pool: str) -> list[dict[str, Any]]:
        """Runs of this pool that are pending or under way."""
        body = {
            "flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING", "PAUSED"]}}},
            "work_pools": {"name": {"any_": [pool]}},
            "limit": 50,
        }
        runs: list[dict[str, Any]] = self.request("POST", "/flow_runs/filter", body)
        return runs
