-- Chunks are stored once per document version and chunk set, and shared by every generation that lists the document; a set is one splitter
-- and one embedding model, in a partition with a vector index of its own, so that vectors of two models can never meet.
CREATE TABLE corpus.chunk_sets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    corpus text NOT NULL,
    splitter text NOT NULL,
    embedding_model text NOT NULL,
    embedding_revision text NOT NULL,
    -- What the vector index holds; the vectors themselves stay in single precision.
    precision text NOT NULL CHECK (precision IN ('single', 'half')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (corpus, splitter, embedding_model, embedding_revision, precision)
);

-- A document is its bytes as one reader read them; its names, of which there may be several, stand with each generation.
-- What an older version read under a name keeps a reader of its own, which no reader asks for again.
UPDATE corpus.documents SET reader = reader || ' of ' || name;
ALTER TABLE corpus.documents
    DROP COLUMN name,
    ADD COLUMN finished_at timestamptz,
    -- What the reader said of it: damaged pages, pages without text, pages whose text was recognised.
    ADD COLUMN reason text NOT NULL DEFAULT '',
    ADD CONSTRAINT documents_by_content UNIQUE (corpus, sha256, reader);
UPDATE corpus.documents SET finished_at = read_at;
COMMENT ON COLUMN corpus.documents.finished_at IS 'null while pages are still being stored: a killed reading goes on where it stopped';

ALTER TABLE corpus.pages
    ADD COLUMN origin text NOT NULL DEFAULT 'text' CHECK (origin IN ('text', 'ocr', 'none')),
    ADD COLUMN confidence real CHECK (confidence BETWEEN 0 AND 1),
    ADD COLUMN problem text NOT NULL DEFAULT '';

ALTER TABLE corpus.generations DROP CONSTRAINT generations_state_check;
ALTER TABLE corpus.generations
    ADD COLUMN set_id bigint REFERENCES corpus.chunk_sets,
    ADD CONSTRAINT generations_state_check
        CHECK (state IN ('draft', 'open', 'unevaluated', 'rejected', 'superseded'));
CREATE UNIQUE INDEX one_unevaluated_generation ON corpus.generations (corpus) WHERE state = 'unevaluated';

-- Both dates are inclusive, null is an open end. closed_at: withdrawn from the corpus while this generation serves.
ALTER TABLE corpus.generation_documents
    ADD COLUMN effective_from date,
    ADD COLUMN effective_to date,
    ADD COLUMN closed_at timestamptz,
    ADD CHECK (effective_to >= effective_from);
CREATE INDEX generations_of_document ON corpus.generation_documents (document_id);

-- The embedding is null between cutting and embedding; a generation opens only when none of its chunks lacks one.
ALTER TABLE corpus.chunks RENAME TO chunks_before_sets;
ALTER TABLE corpus.chunks_before_sets RENAME CONSTRAINT chunks_pkey TO chunks_before_sets_pkey;
DROP INDEX corpus.chunks_by_content, corpus.chunks_by_vector;
CREATE TABLE corpus.chunks (
    set_id bigint NOT NULL REFERENCES corpus.chunk_sets,
    id text NOT NULL,
    document_id bigint NOT NULL,
    page integer NOT NULL,
    start_offset integer NOT NULL CHECK (start_offset >= 0),
    end_offset integer NOT NULL CHECK (end_offset > start_offset),
    text text NOT NULL,
    text_sha256 text NOT NULL,
    embedding vector(384),
    PRIMARY KEY (set_id, id),
    FOREIGN KEY (document_id, page) REFERENCES corpus.pages (document_id, number)
) PARTITION BY LIST (set_id);
-- Inline: a row of about 2 kB would otherwise have its vector moved out of line, and every comparison would fetch it from there.
ALTER TABLE corpus.chunks ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX chunks_by_document ON corpus.chunks (set_id, document_id, page, start_offset);
CREATE INDEX chunks_by_text ON corpus.chunks (set_id, text_sha256);
-- Empty but while an ingest embeds: finds what is left to do, and whether anything is, without a look at the rest.
CREATE INDEX chunks_to_embed ON corpus.chunks (set_id, document_id, page, start_offset) WHERE embedding IS NULL;

-- Making, indexing and dropping a partition needs the owner's rights, so the filing worker does it through these three functions alone.
CREATE FUNCTION corpus.open_set(wanted_corpus text, wanted_splitter text, model text, revision text, wanted_precision text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE found bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('corpus.chunk_sets'));
    SELECT id INTO found FROM corpus.chunk_sets WHERE corpus = wanted_corpus AND splitter = wanted_splitter
        AND embedding_model = model AND embedding_revision = revision AND precision = wanted_precision;
    IF found IS NULL THEN
        INSERT INTO corpus.chunk_sets (corpus, splitter, embedding_model, embedding_revision, precision)
            VALUES (wanted_corpus, wanted_splitter, model, revision, wanted_precision) RETURNING id INTO found;
        EXECUTE format('CREATE TABLE corpus.chunks_%s PARTITION OF corpus.chunks FOR VALUES IN (%s)', found, found);
    END IF;
    RETURN found;
END $$;

-- Built after the first load, because building at once is many times faster than adding row by row; later rows are added to it.
CREATE FUNCTION corpus.index_set(wanted bigint) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE kind text;
BEGIN
    SELECT precision INTO STRICT kind FROM corpus.chunk_sets WHERE id = wanted;
    IF to_regclass(format('corpus.chunks_%s_by_vector', wanted)) IS NOT NULL THEN RETURN false; END IF;
    EXECUTE format(
        CASE kind WHEN 'half'
            THEN 'CREATE INDEX chunks_%1$s_by_vector ON corpus.chunks_%1$s USING hnsw ((embedding::%2$s.halfvec(384)) %2$s.halfvec_cosine_ops)'
            ELSE 'CREATE INDEX chunks_%1$s_by_vector ON corpus.chunks_%1$s USING hnsw (embedding %2$s.vector_cosine_ops)'
        END,
        wanted, (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'));
    EXECUTE format('ANALYZE corpus.chunks_%s', wanted);
    RETURN true;
END $$;

-- Refuses while a generation that serves, or may yet serve, is made of the set.
CREATE FUNCTION corpus.drop_set(wanted bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM corpus.generations WHERE set_id = wanted AND state IN ('draft', 'open', 'unevaluated')) THEN
        RAISE EXCEPTION 'chunk set % is in use', wanted;
    END IF;
    UPDATE corpus.generations SET set_id = NULL WHERE set_id = wanted;
    EXECUTE format('DROP TABLE IF EXISTS corpus.chunks_%s', wanted);
    DELETE FROM corpus.chunk_sets WHERE id = wanted;
END $$;

-- What serves goes on serving: the chunks of every open generation move into the set that they belong to.
DO $$
DECLARE serving record; target bigint;
BEGIN
    FOR serving IN SELECT * FROM corpus.generations WHERE state = 'open' LOOP
        target := corpus.open_set(serving.corpus, serving.splitter, serving.embedding_model, serving.embedding_revision, 'single');
        UPDATE corpus.generations SET set_id = target WHERE id = serving.id;
        INSERT INTO corpus.chunks
            SELECT target, id, document_id, page, start_offset, end_offset, text, text_sha256, embedding
            FROM corpus.chunks_before_sets WHERE generation_id = serving.id;
        PERFORM corpus.index_set(target);
    END LOOP;
END $$;
DROP TABLE corpus.chunks_before_sets;

REVOKE ALL ON FUNCTION corpus.open_set, corpus.index_set, corpus.drop_set FROM PUBLIC;
GRANT EXECUTE ON FUNCTION corpus.open_set, corpus.index_set, corpus.drop_set TO filewright_filing;
GRANT SELECT, INSERT, UPDATE, DELETE ON corpus.chunks TO filewright_filing;
GRANT SELECT ON corpus.chunk_sets TO filewright_filing;
GRANT SELECT ON corpus.chunks, corpus.chunk_sets TO filewright_audit;
