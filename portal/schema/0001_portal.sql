-- The portal's own tables. Applied by the owner role; the portal itself works with the rights granted at the end, and no others.
CREATE SCHEMA IF NOT EXISTS portal;

-- What was filed. The portal's role may add rows and read them, never change or remove one.
CREATE TABLE portal.submissions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    report_id    text NOT NULL UNIQUE CHECK (report_id ~ '^QI-[0-9]{4}-[0-9]{3}$'),
    quarter      text NOT NULL CHECK (quarter ~ '^Q[1-4] [0-9]{4}$'),
    department   text NOT NULL CHECK (department <> ''),
    answers      jsonb NOT NULL CHECK (jsonb_typeof(answers) = 'object'),            -- {question key: answer as typed}
    questions    jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(questions) = 'array'), -- [[key, wording]] as they were asked
    reference    text NOT NULL UNIQUE CHECK (reference <> ''),
    draft_id     uuid UNIQUE,                                                        -- one draft is filed at most once
    submitted_at timestamptz NOT NULL DEFAULT now()
);

-- Steps that passed validation, kept until the report is filed or the time to live is over.
CREATE TABLE portal.drafts (
    id             uuid PRIMARY KEY,
    session_digest bytea NOT NULL CHECK (octet_length(session_digest) = 32),         -- SHA-256 of the session cookie, not the cookie
    period         jsonb NOT NULL CHECK (jsonb_typeof(period) = 'object'),           -- {quarter, year, department, report_id} as typed
    answers        jsonb CHECK (jsonb_typeof(answers) = 'object'),                   -- null until step 2 was saved
    submission_id  bigint REFERENCES portal.submissions (id),                        -- set when filed: no further change
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz NOT NULL
);
CREATE INDEX drafts_expires_at ON portal.drafts (expires_at);

GRANT USAGE ON SCHEMA portal TO filewright_portal, filewright_audit;
GRANT SELECT, INSERT, UPDATE, DELETE ON portal.drafts TO filewright_portal;
GRANT SELECT, INSERT ON portal.submissions TO filewright_portal;
GRANT SELECT ON portal.submissions TO filewright_audit;
