"""`python3 -m infra search`: the passages that the agent would get for a question, from the index that serves.

It changes nothing. The index that serves is the open one, else the unevaluated one, which is for search only; standard error says so.

Rules
- Standard output has the passages as the agent's tool words them, or with `--json` one list of
  {document, page, title, text, score, effective_from, effective_to, origin, confidence}, dates as 2025-09-30 or null, best first.
- What was left out because it was not in force, and why there are fewer passages than asked for, goes to standard error.
- Without `--as-of` every document is searched, whenever it is in force; the agent asks for the quarter that it reports on.
- Exit codes: 0 passages were found, 1 no index serves or it cannot be searched, 2 a question without a letter or digit, or a document that
  the index does not have, 3 nothing was found.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from infra.environment import Environment

if TYPE_CHECKING:
    from tasks.domain.passages import Passage

BAD_INPUT = 2
NOTHING_FOUND = 3


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Search and print; returns the exit code. Raises FilewrightError where no index serves or it cannot be searched."""
    from tasks.agent.search_tool import notices
    from tasks.domain.errors import PermanentError
    from tasks.domain.periods import day
    from tasks.retrieval.generations import serving_generation
    from tasks.retrieval.search import Index, query_text
    from tasks.settings import settings
    from tasks.store.connection import connect

    if not query_text(options.question):
        return _refuse("The question has no letter and no digit to search for.")
    store = settings().store
    url = store.database_url.get_secret_value()
    with connect(url, read_only=True, application="filewright-look") as connection:
        serving = serving_generation(connection, options.corpus)
    if serving is None:
        raise PermanentError(
            f"No index of {options.corpus!r} serves. "
            f"Make one: prefect deployment run ingest/ingest --param corpus={options.corpus} --watch"
        )
    if serving.state == "unevaluated":
        _say(
            f"Index generation {serving.id} is unevaluated: it has no golden questions, so nothing may be filed from it."
        )
    index = Index(url, serving, store.home / "bm25")
    try:
        strangers = sorted(set(options.document) - set(index.documents))
        if strangers:
            return _refuse(
                f"The index has no document {', '.join(map(repr, strangers))}. It has: {', '.join(index.documents)}."
            )
        result = index.search(
            options.question,
            options.k,
            documents=options.document or None,
            period=None if options.as_of is None else day(options.as_of),
        )
    finally:
        index.close()
    for notice in notices(result, "on that day"):
        _say(notice)
    if options.json:
        print(json.dumps([as_json(passage) for passage in result.passages], ensure_ascii=False, indent=1))
    else:
        print("\n\n".join(as_text(passage) for passage in result.passages))
    return 0 if result.passages else NOTHING_FOUND


def as_json(passage: Passage) -> dict[str, Any]:
    """One element of the list that `--json` prints; `text` is what is shown, with its neighbours on the page."""
    first, last = passage.effective_from, passage.effective_to
    return {
        "document": passage.chunk.document,
        "page": passage.chunk.page,
        "title": passage.title,
        "text": passage.text,
        "score": passage.score,
        "effective_from": None if first is None else first.isoformat(),
        "effective_to": None if last is None else last.isoformat(),
        # "ocr" with a confidence of 0 to 1 where the page was recognised from a picture, else "text" and null.
        "origin": passage.origin,
        "confidence": passage.confidence,
    }


def as_text(passage: Passage) -> str:
    """A passage as the agent's tool shows it, which also makes it fit for a terminal: no control character is left."""
    from tasks.agent.search_tool import search_result

    block = search_result(passage)
    return "\n".join([f"{passage.rank}. {block['title']}", *(part["text"] for part in block["content"])])


def _refuse(why: str) -> int:
    _say(why)
    return BAD_INPUT


def _say(line: str) -> None:
    print(line, file=sys.stderr)
