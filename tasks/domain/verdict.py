"""What a grader says of a filed report: findings, and the verdict that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INDETERMINATE = "indeterminate"


@dataclass(frozen=True, slots=True)
class Submission:
    """What the portal recorded, as the record source read it: `answers` maps question key to the text that was filed."""

    report_id: str
    quarter: str
    department: str
    answers: dict[str, str]
    reference: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `check` names it ("value", "citation", "record", …), `key` the question (or "" for the whole record)."""

    check: str
    key: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """REFUTED if any finding is; else INDETERMINATE if any is, or if there is none; else CONFIRMED."""

    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        outcomes = {finding.outcome for finding in self.findings}
        if Outcome.REFUTED in outcomes:
            return Outcome.REFUTED
        if Outcome.INDETERMINATE in outcomes or not outcomes:
            return Outcome.INDETERMINATE
        return Outcome.CONFIRMED
