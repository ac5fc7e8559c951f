"""Drafts of golden questions: answerable where they say, not copied from the text, never twice."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain import patterns
from tasks.domain.chunking import chunk_page
from tasks.domain.drafts import MOST_PAGES, MOST_SHARED, Draft, draft_questions, unmatched_pages
from tasks.domain.evaluation import answers, parse_golden
from tasks.domain.passages import GoldenQuestion, Page, Passage

TOPICS = ("catering", "laundry", "parking", "archive", "pharmacy", "cleaning", "reception", "radiology", "transport")


def page(document: str, number: int, text: str) -> Page:
    return Page(document, number, text)


def statements(topic: str, number: int) -> str:
    """A page with one value of each kind."""
    return "\n\n".join(
        (
            f"Invoices of the {topic} contractor are accepted by the hospital treasurer from June {number}, 2021.",
            f"A yearly {topic} budget of ${number}7,500 covers uniforms, tools and insurance of the crew.",
            f"Overtime among {topic} workers may reach {number + 20} percent of the usual weekly hours.",
            f"Complaints about {topic} follow the procedure laid down in {number} CFR 12.{number} for hospitals.",
            f"Requests for {topic} keys are written on form QX-{number}00-B and kept by the night porter.",
        )
    )


def corpus(documents: int = 3, pages: int = 3) -> dict[str, tuple[Page, ...]]:
    topics = iter(TOPICS)
    return {
        f"d{document}.pdf": tuple(
            page(f"d{document}.pdf", number, statements(next(topics), 10 * document + number))
            for number in range(1, pages + 1)
        )
        for document in range(documents)
    }


def drafted(
    documents: dict[str, tuple[Page, ...]], count: int = 100, existing: tuple[GoldenQuestion, ...] = ()
) -> tuple[Draft, ...]:
    return draft_questions(documents, existing, count=count, prefix="c")


def passages(documents: dict[str, tuple[Page, ...]]) -> list[Passage]:
    chunks = [chunk for pages in documents.values() for each in pages for chunk in chunk_page(each)]
    return [Passage(chunk, "T", 1.0, rank) for rank, chunk in enumerate(chunks, start=1)]


def test_every_draft_is_answered_by_one_passage_of_each_page_it_names_and_of_no_other() -> None:
    documents = corpus()
    drafts = drafted(documents)
    assert len(drafts) > 20
    found = passages(documents)
    for draft in drafts:
        question = draft.question
        assert question.draft and question.answerable
        # `answers` looks at the question's pages only; the patterns alone must hold everything else off.
        places = {
            (passage.chunk.document, passage.chunk.page)
            for passage in found
            if all(patterns.matches(pattern, passage.text) for pattern in question.patterns)
        }
        assert places == {(question.document, number) for number in question.pages}
        assert any(answers(question, passage) for passage in found)
        assert unmatched_pages(question, documents[question.document or ""]) == ()


def test_drafts_are_sound_lines_of_a_golden_file_with_ids_of_their_own() -> None:
    drafts = draft_questions(corpus(), (), count=7, prefix="mine", first=12)
    assert [draft.question.id for draft in drafts] == [f"mine-draft-{number}" for number in range(12, 19)]
    lines = [
        {
            "id": q.id,
            "kind": q.kind,
            "question": q.question,
            "document": q.document,
            "pages": list(q.pages),
            "answer_patterns": list(q.patterns),
            "answerable": True,
            "status": "draft",
        }
        for q in (draft.question for draft in drafts)
    ]
    assert parse_golden("\n".join(map(json.dumps, lines))) == tuple(draft.question for draft in drafts)


def test_no_draft_shares_more_than_a_few_words_in_a_row_with_a_page_or_gives_its_answer_away() -> None:
    documents = corpus()
    texts = [" ".join(re.findall(r"[a-z0-9]+", each.text.lower())) for pages in documents.values() for each in pages]
    for draft in drafted(documents):
        words = re.findall(r"[a-z0-9]+", draft.question.question.lower())
        for at in range(len(words) - MOST_SHARED):
            run = " ".join(words[at : at + MOST_SHARED + 1])
            assert not any(run in text for text in texts), draft.question.question
        assert not patterns.matches(draft.question.patterns[0], draft.question.question)
        assert not any(character.isdigit() for character in draft.question.question)


def test_documents_and_then_pages_and_then_kinds_take_turns() -> None:
    drafts = drafted(corpus(), count=9)
    assert Counter(draft.question.document for draft in drafts) == {"d0.pdf": 3, "d1.pdf": 3, "d2.pdf": 3}
    assert Counter(draft.question.pages[0] for draft in drafts) == {1: 3, 2: 3, 3: 3}
    kinds = Counter(draft.question.kind for draft in drafts)
    assert set(kinds) == {"date", "amount", "percentage", "cite", "identifier"}
    assert max(kinds.values()) <= 2


def test_a_document_that_has_questions_waits_until_the_others_have_some() -> None:
    documents = corpus(documents=2)
    first = tuple(draft.question for draft in drafted({"d0.pdf": documents["d0.pdf"]}, count=3))
    more = drafted(documents, count=3, existing=first)
    assert {draft.question.document for draft in more} == {"d1.pdf"}


def test_nothing_is_suggested_twice_however_often_it_is_asked_for() -> None:
    documents = corpus()
    all_at_once = drafted(documents)
    existing: tuple[GoldenQuestion, ...] = ()
    while more := draft_questions(documents, existing, count=4, prefix="c", first=len(existing) + 1):
        existing += tuple(draft.question for draft in more)
    assert len({question.question for question in existing}) == len(existing)
    assert len({(q.document, q.patterns[0]) for q in existing}) == len(existing)
    assert len(existing) == len(all_at_once)
    assert len({question.id for question in existing}) == len(existing)


def test_what_a_person_asked_in_other_words_is_not_suggested_again() -> None:
    documents = corpus(documents=1, pages=1)
    theirs = GoldenQuestion("theirs", "Since when?", "plain", "d0.pdf", (1,), ("june 1, 2021",))
    assert "date" in {draft.question.kind for draft in drafted(documents)}
    assert "date" not in {draft.question.kind for draft in drafted(documents, existing=(theirs,))}


def test_the_same_words_with_two_values_make_no_question() -> None:
    text = "The {} contractor of the laundry pays a yearly deposit of ${} to the hospital treasurer."
    one = {"a.pdf": (page("a.pdf", 1, text.format("present", "7,500")),)}
    assert [draft.question.kind for draft in drafted(one)] == ["amount"]
    for other in ("b.pdf", "a.pdf"):
        two = dict(one)
        two[other] = (*two.get(other, ()), page(other, 2, text.format("present", "7,900")))
        assert drafted(two) == (), other


def test_a_statement_with_two_values_of_a_kind_or_one_that_can_be_read_twice_makes_no_question() -> None:
    for text in (
        "Between $7,500 and $9,500 are paid each year for uniforms of the laundry crew in the hospital.",
        "Uniforms of the laundry crew in the hospital are replaced for the last time on 03/04/2020.",
        "Uniforms of the laundry crew in the hospital are replaced on February 30, 2020.",
    ):
        assert drafted({"a.pdf": (page("a.pdf", 1, text),)}) == ()


def test_an_answer_that_stands_in_another_document_too_makes_no_question() -> None:
    text = "Uniforms of the laundry crew in the hospital are replaced by the treasurer on March 4, 2020."
    assert len(drafted({"a.pdf": (page("a.pdf", 1, text),)})) == 1
    assert drafted({name: (page(name, 1, text),) for name in ("a.pdf", "b.pdf")}) == ()


def test_a_longer_word_that_begins_like_the_one_asked_for_is_another_word() -> None:
    text = "Uniforms of the laundry crew in the hospital are replaced by the treasurer on March 4, 2020."
    other = "On March 4, 2020 the treasurers of all crews, hospitals and laundrymen met for uniformsets."
    draft, _ = drafted({"a.pdf": (page("a.pdf", 1, text),), "b.pdf": (page("b.pdf", 1, other),)})
    assert draft.statement == text
    assert not all(patterns.matches(pattern, other) for pattern in draft.question.patterns)


def test_all_pages_with_the_answer_are_named_up_to_a_few() -> None:
    text = "Uniforms of the laundry crew in the hospital are replaced by the treasurer on March 4, 2020."
    for count in (2, MOST_PAGES):
        (draft,) = drafted({"a.pdf": tuple(page("a.pdf", number, text) for number in range(1, count + 1))})
        assert draft.question.pages == tuple(range(1, count + 1))
    assert drafted({"a.pdf": tuple(page("a.pdf", number, text) for number in range(1, MOST_PAGES + 2))}) == ()


def test_a_value_is_found_with_any_dash_and_not_inside_another() -> None:
    text = "Requests for laundry keys are written on form QX–100–B and kept by the night porter of the hospital."
    (draft,) = drafted({"a.pdf": (page("a.pdf", 1, text),)})
    value = draft.question.patterns[0]
    for written in ("QX–100–B", "qx-100-b", "QX‑100‑B"):
        assert patterns.matches(value, f"form {written}.")
    for other in ("AQX-100-B", "QX-100-BC", "QX-1000-B"):
        assert not patterns.matches(value, other)


def test_pages_that_no_longer_have_the_answer_are_named() -> None:
    pages = [
        page("a.pdf", number, text) for number, text in ((1, "Fees are $50 for laundry."), (2, "Nothing."), (4, ""))
    ]
    question = GoldenQuestion("q", "?", "plain", "a.pdf", (1, 2, 3, 4), (r"\$50", "laundry"))
    assert unmatched_pages(question, pages) == (2, 3, 4)


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\n\n", "$5", "x" * 5_000, "2020 " * 300, "(((" * 200 + " $5 ", "\\d+ [a- $7,000 " * 9]
)
def test_a_page_that_says_nothing_makes_no_question(text: str) -> None:
    assert drafted({"a.pdf": (page("a.pdf", 1, text),)}) == ()


WORDS = st.sampled_from(
    ["laundry", "Treasurer", "hospital's", "[crew]", "$7,500", "12 percent", "June 3, 2021", "45 CFR 162.5", "QX-100-B", "No.", "of", "the",
     "e.g.", "–", "Überstunden", "(see", "note)", "*", "a\u00adb", "\\b", "{2}", "Part D.", "Key?", "•"]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=4), st.integers(1, 12))
def test_whatever_the_text_drafts_are_answerable_and_their_patterns_are_safe(texts: list[str], count: int) -> None:
    documents = {"a.pdf": tuple(page("a.pdf", number, text) for number, text in enumerate(texts, start=1))}
    drafts = drafted(documents, count)
    assert len(drafts) <= count
    for draft in drafts:
        assert not any(patterns.complaint(pattern) for pattern in draft.question.patterns)
        assert unmatched_pages(draft.question, documents["a.pdf"]) == ()
    assert drafts == drafted(documents, count)
