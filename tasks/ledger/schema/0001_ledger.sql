-- Filings, attempts with leases, the journal of each attempt, verdicts. The ledger decides; Prefect's states never do.
CREATE SCHEMA ledger;
REVOKE ALL ON SCHEMA ledger FROM PUBLIC;

CREATE TABLE ledger.filings (
    id text PRIMARY KEY,
    corpus text NOT NULL,
    form text NOT NULL,
    report_id text NOT NULL,
    quarter text NOT NULL,
    department text NOT NULL,
    state text NOT NULL DEFAULT 'due' CHECK (state IN (
        'due', 'claimed', 'filling', 'submitting', 'submitted', 'confirmed', 'refuted', 'needs_reconciliation')),
    receipt text,
    -- The index that the submitted answers came from: recorded with the intent to submit, and what verify grades against.
    generation_id bigint REFERENCES corpus.generations,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (form, report_id)
);

-- number is the fencing token: a journal row is only written by the attempt that has not ended.
CREATE TABLE ledger.attempts (
    filing_id text NOT NULL REFERENCES ledger.filings,
    number integer NOT NULL CHECK (number > 0),
    flow_run uuid,
    generation_id bigint NOT NULL REFERENCES corpus.generations,
    model text NOT NULL,
    folder text NOT NULL DEFAULT '',
    claimed_at timestamptz NOT NULL DEFAULT now(),
    lease_expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    outcome text CHECK (outcome IN ('submitted', 'already_filed', 'stopped', 'failed', 'lease_expired')),
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (filing_id, number),
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE UNIQUE INDEX one_live_attempt ON ledger.attempts (filing_id) WHERE ended_at IS NULL;
CREATE INDEX attempts_by_run ON ledger.attempts (flow_run);

CREATE TABLE ledger.turns (
    filing_id text NOT NULL,
    attempt integer NOT NULL,
    number integer NOT NULL,
    model text NOT NULL,
    stop_reason text NOT NULL,
    content jsonb NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_creation_input_tokens bigint NOT NULL,
    cache_read_input_tokens bigint NOT NULL,
    dollars numeric(12, 6) NOT NULL,
    milliseconds integer NOT NULL,
    answered_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (filing_id, attempt, number),
    FOREIGN KEY (filing_id, attempt) REFERENCES ledger.attempts (filing_id, number)
);

-- Written before the call runs (status 'running'), completed after it.
CREATE TABLE ledger.steps (
    filing_id text NOT NULL,
    attempt integer NOT NULL,
    number integer NOT NULL,
    tool_use_id text NOT NULL,
    tool text NOT NULL,
    arguments jsonb NOT NULL,
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'done', 'denied', 'failed', 'not_executed')),
    text text NOT NULL DEFAULT '',
    detail text NOT NULL DEFAULT '',
    screenshot text,
    milliseconds integer,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    PRIMARY KEY (filing_id, attempt, number),
    FOREIGN KEY (filing_id, attempt) REFERENCES ledger.attempts (filing_id, number),
    CHECK ((status = 'running') = (ended_at IS NULL))
);

CREATE TABLE ledger.passages_shown (
    filing_id text NOT NULL,
    attempt integer NOT NULL,
    step integer NOT NULL,
    rank integer NOT NULL,
    chunk_id text NOT NULL,
    PRIMARY KEY (filing_id, attempt, step, rank),
    FOREIGN KEY (filing_id, attempt, step) REFERENCES ledger.steps (filing_id, attempt, number)
);

-- One verdict per record, grader and corpus: a second verify finds the first one's row.
CREATE TABLE ledger.verdicts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    form text NOT NULL,
    report_id text NOT NULL,
    submission_digest text NOT NULL,
    grader_version text NOT NULL,
    generation_id bigint NOT NULL REFERENCES corpus.generations,
    outcome text NOT NULL CHECK (outcome IN ('confirmed', 'refuted', 'indeterminate')),
    findings jsonb NOT NULL,
    submission jsonb,
    flow_run uuid,
    decided_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (form, report_id, submission_digest, grader_version, generation_id)
);

-- The audit role only reads tables; this function is the one thing that it may write through.
CREATE FUNCTION ledger.record_verdict(
    p_form text, p_report_id text, p_submission_digest text, p_grader_version text, p_generation_id bigint,
    p_outcome text, p_findings jsonb, p_submission jsonb, p_flow_run uuid
) RETURNS TABLE (id bigint, first boolean, outcome text, findings jsonb, decided_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
    inserted bigint;
BEGIN
    INSERT INTO ledger.verdicts AS v (form, report_id, submission_digest, grader_version, generation_id, outcome,
                                      findings, submission, flow_run)
    VALUES (p_form, p_report_id, p_submission_digest, p_grader_version, p_generation_id, p_outcome, p_findings,
            p_submission, p_flow_run)
    ON CONFLICT (form, report_id, submission_digest, grader_version, generation_id) DO NOTHING
    RETURNING v.id INTO inserted;

    UPDATE ledger.filings AS f
    SET state = (SELECT CASE v.outcome WHEN 'indeterminate' THEN 'submitted' ELSE v.outcome END
                 FROM ledger.verdicts AS v
                 WHERE v.form = p_form AND v.report_id = p_report_id AND v.submission_digest = p_submission_digest
                   AND v.grader_version = p_grader_version AND v.generation_id = p_generation_id),
        changed_at = now()
    WHERE f.form = p_form AND f.report_id = p_report_id AND f.state IN ('submitted', 'confirmed', 'refuted');

    RETURN QUERY
    SELECT v.id, inserted IS NOT NULL, v.outcome, v.findings, v.decided_at
    FROM ledger.verdicts AS v
    WHERE v.form = p_form AND v.report_id = p_report_id AND v.submission_digest = p_submission_digest
      AND v.grader_version = p_grader_version AND v.generation_id = p_generation_id;
END
$$;
REVOKE ALL ON FUNCTION ledger.record_verdict FROM PUBLIC;

GRANT USAGE ON SCHEMA ledger TO filewright_filing, filewright_audit;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA ledger TO filewright_filing;
REVOKE INSERT ON ledger.verdicts FROM filewright_filing;
GRANT UPDATE (state, receipt, generation_id, changed_at) ON ledger.filings TO filewright_filing;
GRANT UPDATE (flow_run, folder, lease_expires_at, ended_at, outcome, reason) ON ledger.attempts TO filewright_filing;
GRANT UPDATE (status, text, detail, screenshot, milliseconds, ended_at) ON ledger.steps TO filewright_filing;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO filewright_audit;
GRANT EXECUTE ON FUNCTION ledger.record_verdict TO filewright_audit;
