"""The demo's last table: read back from Prefect's API and the ledger, never from the demo's own variables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.prefect_api import PrefectApi

if TYPE_CHECKING:
    from tasks.ledger.summary import FilingSummary

CONFIRMED = "confirmed"
WIDEST = 110  # characters of a line of the table


@dataclass(frozen=True)
class Report:
    """What was read back: the three runs from Prefect, the filing from the ledger."""

    runs: Mapping[str, Mapping[str, Any]]
    summary: FilingSummary | None
    ui: str

    @property
    def confirmed(self) -> bool:
        """The ledger's newest verdict on the filing confirms it, and Prefect saw the verify run complete."""
        verify = self.runs.get("verify", {})
        return self.summary is not None and self.summary.verdict == CONFIRMED and state_type(verify) == "COMPLETED"


def read_back(api: PrefectApi, run_ids: Mapping[str, str], read_summary: Callable[[], FilingSummary | None]) -> Report:
    """Ask Prefect for each run anew and the ledger for the filing."""
    return Report({name: api.run(run_id) for name, run_id in run_ids.items()}, read_summary(), api.address)


def state_type(run: Mapping[str, Any]) -> str:
    return str((run.get("state") or {}).get("type") or "")


def state_name(run: Mapping[str, Any]) -> str:
    return str((run.get("state") or {}).get("name") or "unknown")


def table(report: Report) -> list[str]:
    """Lines of two columns, the same on every terminal."""
    rows = [(f"{name} run", _run(run)) for name, run in report.runs.items()]
    summary = report.summary
    if summary is None:
        rows.append(("filing", "the ledger knows nothing of it"))
    else:
        recall = "not evaluated" if summary.recall_at_4 is None else f"{summary.recall_at_4:.2f}"
        attempts = f" of {summary.attempts}" if summary.attempts > 1 else ""
        rows += [
            ("filing", f"{summary.filing_id}, {summary.state}"),
            ("chunks", f"{summary.chunks:,} in index generation {summary.generation}"),
            ("recall at 4", recall),
            ("model", summary.model),
            ("attempt", f"{summary.attempt}{attempts}: {summary.outcome or 'under way'}{_because(summary.reason)}"),
            ("turns", f"{summary.turns:,}"),
            ("actions", f"{summary.actions:,}{f', {summary.denied} refused' if summary.denied else ''}"),
            *([("by class", _counted(summary.classes))] if summary.classes else []),
            *([("refused by", _counted(summary.rules))] if summary.rules else []),
            *([("approved", f"{_counted(summary.approved)} (no person was asked)")] if summary.approved else []),
            ("searches", f"{summary.searches:,}"),
            ("seconds", f"{summary.seconds:.0f}"),
            ("tokens", f"{summary.tokens:,}"),
            ("cost", f"{summary.dollars:.2f} US dollars by the price table{_nothing_paid(summary.model)}"),
            ("receipt", summary.receipt or "none"),
            ("verdict", summary.verdict or "none"),
            ("record", summary.folder),
        ]
    rows.append(("Prefect", report.ui))
    return _columns(rows)


def _run(run: Mapping[str, Any]) -> str:
    seconds = float(run.get("total_run_time") or 0)
    return f"{run.get('name', '?')}: {state_name(run)} in {seconds:.0f} s"


def _counted(counts: Mapping[str, int]) -> str:
    """`input 17, read 12`, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _nothing_paid(model: str) -> str:
    return "; nothing was paid, the model is a local stand-in" if model == "offline" else ""


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    rule = "─" * min(WIDEST, width + 2 + max(len(value) for _, value in rows))
    lines = []
    for name, value in rows:
        # A path stays in one piece; a sentence is wrapped under its column.
        parts = textwrap.wrap(value, WIDEST - width - 2, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{name if number == 0 else '':<{width}}  {part}" for number, part in enumerate(parts)]
    return [rule, *lines, rule]
