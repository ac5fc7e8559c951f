-- Documents, their pages, and index generations. Pages are stored once, apart from chunks: the grader reads pages.
CREATE SCHEMA corpus;
REVOKE ALL ON SCHEMA corpus FROM PUBLIC;

-- One row per version of a file as one reader read it: the same bytes read the same way are never read twice.
CREATE TABLE corpus.documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    reader text NOT NULL,
    page_count integer NOT NULL CHECK (page_count > 0),
    read_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (corpus, name, sha256, reader)
);

CREATE TABLE corpus.pages (
    document_id bigint NOT NULL REFERENCES corpus.documents ON DELETE CASCADE,
    number integer NOT NULL CHECK (number > 0),
    text text NOT NULL,
    PRIMARY KEY (document_id, number)
);

-- draft -> open | rejected; open -> superseded when the next one opens. The gate alone moves a generation out of draft.
CREATE TABLE corpus.generations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus text NOT NULL,
    splitter text NOT NULL,
    embedding_model text NOT NULL,
    embedding_revision text NOT NULL,
    fingerprint text NOT NULL,
    state text NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'open', 'rejected', 'superseded')),
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    evaluation jsonb,
    CHECK ((state = 'draft') = (decided_at IS NULL))
);
CREATE UNIQUE INDEX one_open_generation ON corpus.generations (corpus) WHERE state = 'open';
CREATE INDEX generations_newest ON corpus.generations (corpus, id DESC);

-- What became of each document that the manifest names; document_id is null where it could not be read.
CREATE TABLE corpus.generation_documents (
    generation_id bigint NOT NULL REFERENCES corpus.generations ON DELETE CASCADE,
    name text NOT NULL,
    title text NOT NULL,
    document_id bigint REFERENCES corpus.documents,
    status text NOT NULL,
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (generation_id, name),
    CHECK ((status = 'ok') = (document_id IS NOT NULL))
);

-- 384 dimensions: both supported models (all-MiniLM-L6-v2, bge-small-en-v1.5) have them; the generation says which one it is.
CREATE TABLE corpus.chunks (
    generation_id bigint NOT NULL REFERENCES corpus.generations ON DELETE CASCADE,
    id text NOT NULL,
    document_id bigint NOT NULL REFERENCES corpus.documents,
    page integer NOT NULL,
    start_offset integer NOT NULL CHECK (start_offset >= 0),
    end_offset integer NOT NULL CHECK (end_offset > start_offset),
    text text NOT NULL,
    text_sha256 text NOT NULL,
    embedding vector(384) NOT NULL,
    PRIMARY KEY (generation_id, id),
    FOREIGN KEY (document_id, page) REFERENCES corpus.pages (document_id, number)
);
CREATE INDEX chunks_by_content ON corpus.chunks (text_sha256);
CREATE INDEX chunks_by_vector ON corpus.chunks USING hnsw (embedding vector_cosine_ops);

GRANT USAGE ON SCHEMA corpus TO filewright_filing, filewright_audit;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA corpus TO filewright_filing;
GRANT SELECT ON ALL TABLES IN SCHEMA corpus TO filewright_audit;
