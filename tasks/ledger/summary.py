"""What happened to a filing, read back from the ledger alone: for the demo's last table and for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks.store.connection import connect


@dataclass(frozen=True, slots=True)
class FilingSummary:
    """Numbers of one attempt, and the filing's state and newest verdict.

    The attempt is the one that submitted, or the newest where none did. `tokens` counts all kinds; `dollars` follows the price table;
    `classes` counts its actions by the class that the action policy gave them, refused ones too, `rules` the refusals by rule,
    `approved` the commits by who said yes. `seconds` is from claim to end; `recall_at_4` and `chunks` belong to the index generation
    that the attempt used.
    """

    filing_id: str
    state: str
    receipt: str | None
    corpus: str
    quarter: str
    department: str
    attempt: int
    attempts: int
    outcome: str | None
    reason: str
    model: str
    folder: str
    generation: int
    chunks: int
    recall_at_4: float | None
    turns: int
    actions: int
    searches: int
    denied: int
    seconds: float
    tokens: int
    dollars: float
    last_tool: str | None
    verdict: str | None
    classes: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    approved: Mapping[str, int] = field(default_factory=dict)


# What the driver writes of a decision (`noted` in tasks/domain/actions.py): "[class] rule, approved by who".
_CLASS, _RULE, _APPROVER = r"^\[([a-z]+)\] ", r"^(?:\[[a-z]+\] )?([^,<]+)", r"^\[commit\] [^<]*, approved by ([^ <]+)"
_COUNTED = """(SELECT coalesce(jsonb_object_agg(what, times), '{{}}') FROM (
                    SELECT substring(s.detail FROM %({name})s) AS what, count(*) AS times FROM ledger.steps s
                    WHERE s.filing_id = f.id AND s.attempt = a.number {only} GROUP BY 1
                ) AS counted WHERE what IS NOT NULL)"""


def filing_summary(url: str, filing: str) -> FilingSummary | None:
    """The summary of `filing`, or None where the ledger does not know it. Any role that reads the ledger may call it."""
    with connect(url, read_only=True) as connection:
        row = connection.execute(
            f"""
            WITH chosen AS (
                SELECT * FROM ledger.attempts WHERE filing_id = %(filing)s
                ORDER BY (outcome IS NOT DISTINCT FROM 'submitted') DESC, number DESC LIMIT 1
            )
            SELECT f.id, f.state, f.receipt, f.corpus, f.quarter, f.department, a.number,
                (SELECT count(*) FROM ledger.attempts WHERE filing_id = f.id),
                a.outcome, a.reason, a.model, a.folder, a.generation_id,
                (SELECT count(*) FROM corpus.chunks c JOIN corpus.generations g ON g.set_id = c.set_id
                    WHERE g.id = a.generation_id AND c.document_id IN
                        (SELECT document_id FROM corpus.generation_documents WHERE generation_id = g.id)),
                (SELECT (evaluation #>> '{{score,recall_at_4}}')::float FROM corpus.generations WHERE id = a.generation_id),
                (SELECT count(*) FROM ledger.turns t WHERE t.filing_id = f.id AND t.attempt = a.number),
                (SELECT count(*) FROM ledger.steps s WHERE s.filing_id = f.id AND s.attempt = a.number
                    AND s.tool NOT LIKE 'search%%'),
                (SELECT count(*) FROM ledger.steps s WHERE s.filing_id = f.id AND s.attempt = a.number
                    AND s.tool LIKE 'search%%'),
                (SELECT count(*) FROM ledger.steps s WHERE s.filing_id = f.id AND s.attempt = a.number
                    AND s.status = 'denied'),
                extract(epoch FROM coalesce(a.ended_at, clock_timestamp()) - a.claimed_at),
                (SELECT coalesce(sum(input_tokens + output_tokens + cache_creation_input_tokens
                    + cache_read_input_tokens), 0) FROM ledger.turns t WHERE t.filing_id = f.id AND t.attempt = a.number),
                (SELECT coalesce(sum(dollars), 0) FROM ledger.turns t WHERE t.filing_id = f.id AND t.attempt = a.number),
                (SELECT tool FROM ledger.steps s WHERE s.filing_id = f.id AND s.attempt = a.number
                    ORDER BY number DESC LIMIT 1),
                (SELECT outcome FROM ledger.verdicts v WHERE v.form = f.form AND v.report_id = f.report_id
                    ORDER BY id DESC LIMIT 1),
                {_COUNTED.format(name="class", only="")},
                {_COUNTED.format(name="rule", only="AND s.status = 'denied'")},
                {_COUNTED.format(name="approver", only="")}
            FROM ledger.filings f JOIN chosen a ON a.filing_id = f.id
            WHERE f.id = %(filing)s
            """,
            {"filing": filing, "class": _CLASS, "rule": _RULE, "approver": _APPROVER},
        ).fetchone()
    if row is None:
        return None
    values = list(row)
    values[19], values[20], values[21] = float(values[19]), int(values[20]), float(values[21])
    return FilingSummary(*values)
