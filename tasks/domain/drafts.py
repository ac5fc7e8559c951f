"""Drafts of golden questions, made from the text of a corpus by rules.

It decides which statements are worth a question and how it is worded. A draft is a proposal: it is only as good as its template, and
counts for nothing until a person has read it (`GoldenQuestion.draft`). It never asks a model, and never makes an unanswerable question:
what a corpus does not say, no rule can know.

Rules
- A statement is a sentence, list item or table row with exactly one value of a kind (domain/claims.py): a date, amount, percentage, cite
  or identifier. That value is the answer. One question for a value of a document.
- The question has the statement's rarest words (rare in the corpus) in an order of their own, without the value, in a template that
  belongs to the kind of value and to what stands before and near it. At most MOST_SHARED words in a row are those of any page.
- It is dropped where another statement of any document has the same words and another value of the kind: then two answers are right.
- Two patterns: the value, with any dash and not inside a longer number, and the rarest word near it. Both must match one window of the
  page (domain/chunking.py), so an index can find them in one passage, and no window of another document. `pages` names every page of
  the document where they do.
- Nothing that an earlier question of the document already asks for: one whose patterns the statement matches.
- Documents take turns, then pages, then kinds.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.domain import patterns
from tasks.domain.characters import fold
from tasks.domain.chunking import OVERLAP, SIZE, chunk_page
from tasks.domain.claims import AMOUNT, CITE, DATE, IDENTIFIER, PERCENTAGE, Claim, find_claims
from tasks.domain.passages import GoldenQuestion, Page

SHORTEST, LONGEST = 40, 400
"""Characters of a statement: less is a heading or a cell, more is a list that was run together."""
MOST_PAGES = 5
"""A value that stands with its word on more pages tells nothing about a search."""
MOST_SHARED = 4
MOST_PHRASES = 3
NEAR = 120
"""Characters between the value and the word of the second pattern, at most: they should come into one window."""

KINDS = (DATE, AMOUNT, PERCENTAGE, CITE, IDENTIFIER)

# For each kind the first row whose words stand right before the value, or else whose cue stands near it; the words of a cue are not
# repeated in the question.
_TEMPLATES: tuple[tuple[str, str, str, str], ...] = (
    (
        DATE,
        r"from|beginning|starting|since|after",
        r"effective|effect|force|apply|applies|begins?|starts?",
        "From what day on does this count: {}?",
    ),
    (
        DATE,
        r"by|before|no later than|within",
        r"comply|compliance|compliant|deadline|due",
        "What is the last day allowed for {}?",
    ),
    (DATE, r"until|till|through|to", r"expires?|expired|expiration|ends?|ended", "Up to what day does this last: {}?"),
    (
        DATE,
        r"of",
        r"publish\w*|publication|issue[ds]?|adopt\w*|release[ds]?|announce[ds]?|signed|dated",
        "When did this come out: {}?",
    ),
    (DATE, "", "", "What day is given for {}?"),
    (AMOUNT, "", r"costs?|costing|spend|spends|spent|expenses?", "How much money goes into {}?"),
    (AMOUNT, "", r"penalty|penalties|fines?|fined", "How high is the punishment in money for {}?"),
    (AMOUNT, "", r"saves?|saved|savings?", "How much money is kept with {}?"),
    (AMOUNT, "", "", "What sum of money is named for {}?"),
    (PERCENTAGE, "", "", "What share, in per cent, is given for {}?"),
    (CITE, "", "", "Which legal text is pointed to for {}?"),
    (IDENTIFIER, "", "", "Which number or code belongs to {}?"),
)
_STOP = frozenset(
    (
        "about above according after again against also although among another anybody anyone any are around because "
        "been before being below between both but can cannot could did does doing done down during each either every "
        "few for from further get gets given giving had has have having her here his how however into its itself just "
        "less like made make makes many may might more most much must nor not now off once one only other others our "
        "out over own per rather said same see shall she should since some such than that the their them then there "
        "therefore these they this those through thus too under unless until upon use used uses using very was way "
        "were what when where whether which while who whom whose why will with within without would yet you your and "
        "all even forth moreover whereby therein thereof first second third two three four five six seven eight nine "
        "ten well new still set take taken takes including included includes section page part paragraph rule "
        "document january february march april june july august september october november december jan feb mar apr "
        "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday"
    ).split()
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z§•])")
# What ends with a dot and goes on.
_GOES_ON = re.compile(
    r"(?:\b(?:[A-Za-z]|No|Nos|Vol|Pub|Secs?|sec|Mr|Mrs|Ms|Dr|St|Inc|Co|Corp|Art|Fig|Fed|Reg|Stat|Rev|vs|cf|pp))\.\Z"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed question: the one that was asked for, and the statement that it was made from, for a person to compare."""

    question: GoldenQuestion
    statement: str


@dataclass(frozen=True, slots=True)
class _Statement:
    document: str
    page: int
    text: str  # folded
    claim: Claim
    words: frozenset[str]
    rarity: float


def draft_questions(
    documents: Mapping[str, Sequence[Page]],
    existing: Iterable[GoldenQuestion],
    *,
    count: int,
    prefix: str,
    first: int = 1,
    size: int = SIZE,
    overlap: int = OVERLAP,
) -> tuple[Draft, ...]:
    """At most `count` drafts, with the ids `<prefix>-draft-<first>` and on; the same input gives the same drafts.

    `documents` has the pages of each document by its name (each text once), `existing` what was asked before, drafts too. `size` and
    `overlap` are those of the index. Fewer come back where the text gives no more. Cost: linear in the text, and for each draft a look
    through all windows that have its rarest word.
    """
    corpus = _Corpus(documents, size, overlap)
    asked = list(existing)
    turns = _Turns(corpus.statements, asked)
    values: set[tuple[str, str, str]] = set()
    words_asked = {frozenset(_content(question.question)) for question in asked}
    made: list[Draft] = []
    while len(made) < count and (row := turns.next()) is not None:
        value = (row.document, row.claim.kind, row.claim.values[0])
        if value in values or _asked(row, asked):
            continue
        question = corpus.question(row, f"{prefix}-draft-{first + len(made)}")
        if question is None or frozenset(_content(question.question)) in words_asked:
            continue
        made.append(Draft(question, row.text))
        asked.append(question)
        words_asked.add(frozenset(_content(question.question)))
        values.add(value)
        turns.took(row.document, question)
    return tuple(made)


def unmatched_pages(
    question: GoldenQuestion, pages: Sequence[Page], *, size: int = SIZE, overlap: int = OVERLAP
) -> tuple[int, ...]:
    """Those of the question's pages on which no passage matches all of its patterns; a passage is a window with its following one."""
    by_number = {page.number: page for page in pages}
    missed = []
    for number in question.pages:
        page = by_number.get(number)
        chunks = chunk_page(page, size=size, overlap=overlap) if page is not None else ()
        texts = (
            [page.text[one.start : two.end] for one, two in zip(chunks, [*chunks[1:], *chunks[-1:]], strict=True)]
            if page
            else []
        )
        if not any(all(patterns.matches(pattern, text) for pattern in question.patterns) for text in texts):
            missed.append(number)
    return tuple(missed)


class _Turns:
    """Whose turn it is: the document with the fewest questions, its page with the fewest (the rarest statement first), then the kind.

    Counts are looked up again when a document or page comes to the head of its heap, so a turn costs the logarithm of their numbers and one
    page's statements, however many are turned down.
    """

    def __init__(self, statements: Iterable[_Statement], asked: Iterable[GoldenQuestion]) -> None:
        self.documents: Counter[str] = Counter()
        self.pages: Counter[tuple[str, int]] = Counter()
        self.kinds: Counter[str] = Counter()
        for question in asked:
            if question.document is not None:
                self.documents[question.document] += 1
                self.pages.update((question.document, page) for page in question.pages)
        self.rows: dict[tuple[str, int], list[_Statement]] = defaultdict(list)
        for statement in statements:
            self.rows[(statement.document, statement.page)].append(statement)
        self.page_heaps: dict[str, list[tuple[int, float, int]]] = defaultdict(list)
        for (name, page), rows in self.rows.items():
            best = max(row.rarity for row in rows)
            heapq.heappush(self.page_heaps[name], (self.pages[(name, page)], -best, page))
        self.heap = [(self.documents[name], name) for name in self.page_heaps]
        heapq.heapify(self.heap)

    def next(self) -> _Statement | None:
        """The statement whose turn it is; each comes once. None when there is no other."""
        while self.heap:
            count, name = self.heap[0]
            if count != self.documents[name]:
                heapq.heapreplace(self.heap, (self.documents[name], name))
                continue
            pages = self.page_heaps[name]
            while pages:
                count, best, page = pages[0]
                rows = self.rows[(name, page)]
                if not rows:
                    heapq.heappop(pages)
                elif count != self.pages[(name, page)]:
                    heapq.heapreplace(pages, (self.pages[(name, page)], best, page))
                else:
                    row = min(
                        rows, key=lambda row: (self.kinds[row.claim.kind], -row.rarity, row.claim.start, row.text)
                    )
                    rows.remove(row)
                    return row
            heapq.heappop(self.heap)
        return None

    def took(self, document: str, question: GoldenQuestion) -> None:
        """A statement of `document` became this question."""
        self.documents[document] += 1
        self.kinds[question.kind] += 1
        self.pages.update((document, page) for page in question.pages)


class _Corpus:
    """All statements, how rare each word is, and the windows that a search could return."""

    def __init__(self, documents: Mapping[str, Sequence[Page]], size: int, overlap: int) -> None:
        pages = [(name, page) for name, found in documents.items() for page in found if page.text]
        seen: Counter[str] = Counter()
        # By word the numbers of the windows and pages that have it: most looks through a corpus begin with a rare word.
        self.windows: list[tuple[str, int, str]] = []
        self.windows_with: dict[str, list[int]] = defaultdict(list)
        self.sequences: list[str] = []
        self.pages_with: dict[str, list[int]] = defaultdict(list)
        for name, page in pages:
            seen.update(set(_words(fold(page.text))))
            sequence = _sequence(page.text)
            for word in set(sequence.split()):
                self.pages_with[word].append(len(self.sequences))
            self.sequences.append(sequence)
            for chunk in chunk_page(page, size=size, overlap=overlap):
                for word in {part for whole in _words(fold(chunk.text)) for part in (whole, *whole.split("-"))}:
                    self.windows_with[word].append(len(self.windows))
                self.windows.append((name, page.number, chunk.text))
        self.rarity = {word: math.log(1 + len(pages) / number) for word, number in seen.items()}
        self.statements: list[_Statement] = []
        self.values: dict[tuple[str, str], list[tuple[frozenset[str], frozenset[str]]]] = defaultdict(list)
        for name, page in pages:
            for text in _sentences(page.text):
                self._read(name, page.number, text)

    def question(self, row: _Statement, identity: str) -> GoldenQuestion | None:
        """The question for a statement; None where it would be unclear, too close to the text, or could not be found again."""
        cue, template = _template(row)
        phrases = self._phrases(row, cue)
        words = frozenset(word for phrase in phrases for word in _words(phrase))
        if len(phrases) < 2 or len(words) < 3:
            return None
        if self._is_ambiguous(row, words):
            return None
        anchor = self._anchor(row, words)
        if anchor is None:
            return None
        wanted = (_value_pattern(row.claim.text), _word_pattern(anchor))
        if any(patterns.complaint(pattern) for pattern in wanted):
            return None
        places = {
            (document, page)
            for document, page, window in map(self.windows.__getitem__, self.windows_with[anchor])
            if all(patterns.matches(pattern, window) for pattern in wanted)
        }
        numbers = tuple(sorted(page for document, page in places if document == row.document))
        if (
            row.page not in numbers
            or len(numbers) > MOST_PAGES
            or any(document != row.document for document, _ in places)
        ):
            return None
        text = next((text for text in _wordings(template, phrases) if not self._copies(text)), None)
        if text is None:
            return None
        return GoldenQuestion(
            identity, text, row.claim.kind, row.document, numbers, wanted, answerable=True, draft=True
        )

    def _read(self, document: str, page: int, text: str) -> None:
        claims = find_claims(text)
        folded = fold(text)
        words = frozenset(_content(folded))
        for kind in KINDS:
            of_kind = [claim for claim in claims if claim.kind == kind]
            values = frozenset(value for claim in of_kind for value in claim.values)
            for word in words if values else ():
                self.values[(word, kind)].append((words, values))
            if len(values) == 1 and len(words) >= 3:
                best = sorted((self.rarity.get(word, 0.0) for word in words), reverse=True)[:4]
                claim = next(claim for claim in of_kind if claim.values)
                self.statements.append(_Statement(document, page, folded, claim, words, sum(best) / 4))

    def _phrases(self, row: _Statement, cue: str) -> list[str]:
        """The rarest runs of at most two words of the statement without the value, rarest first."""
        claims = find_claims(row.text)
        runs: list[list[tuple[str, int]]] = []
        end = -1
        for match in _WORD.finditer(row.text):
            inside = any(claim.start < match.end() and match.start() < claim.end for claim in claims)
            if inside or not _is_content(match[0]) or (cue and re.fullmatch(cue, match[0], re.IGNORECASE)):
                end = -1
                continue
            if match.start() == end + 1 and row.text[end] == " " and len(runs[-1]) < 2:
                runs[-1].append((match[0], match.start()))
            else:
                runs.append([(match[0], match.start())])
            end = match.end()
        scored: dict[str, float] = {}
        for run in runs:
            near = 1.5 if min(abs(at - row.claim.start) for _, at in run) <= NEAR else 1.0
            scored.setdefault(
                _as_written(run, row.text), near * sum(self.rarity.get(word.lower(), 0.0) for word, _ in run)
            )
        best = sorted(scored, key=lambda phrase: (-scored[phrase], phrase))[: MOST_PHRASES * 2]
        chosen: list[str] = []
        for phrase in best:
            # The plural of a word is the word again.
            words = {word.rstrip("s") for word in _words(phrase)}
            if not any(words & {word.rstrip("s") for word in _words(other)} for other in chosen):
                chosen.append(phrase)
        return chosen[:MOST_PHRASES]

    def _anchor(self, row: _Statement, words: frozenset[str]) -> str | None:
        near = row.text[max(0, row.claim.start - NEAR) : row.claim.end + NEAR]
        found = [word for word in set(_words(near)) & words if len(word) > 3 or word.upper() in near]
        return max(found, key=lambda word: (self.rarity.get(word, 0.0), word), default=None)

    def _is_ambiguous(self, row: _Statement, words: frozenset[str]) -> bool:
        rarest = max(words, key=lambda word: (self.rarity.get(word, 0.0), word))
        others = self.values[(rarest, row.claim.kind)]
        return any(words <= other and not values <= set(row.claim.values) for other, values in others)

    def _copies(self, question: str) -> bool:
        """Whether more than MOST_SHARED words in a row stand on a page."""
        words = _sequence(question).split()
        for at in range(len(words) - MOST_SHARED):
            run = words[at : at + MOST_SHARED + 1]
            rarest = min((self.pages_with.get(word, []) for word in run), key=len)
            if any(f" {' '.join(run)} " in self.sequences[number] for number in rarest):
                return True
        return False


def _asked(row: _Statement, asked: Iterable[GoldenQuestion]) -> bool:
    return any(
        question.document == row.document
        and question.patterns
        and all(patterns.matches(pattern, row.text) for pattern in question.patterns)
        for question in asked
    )


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        begin = 0
        for match in _SENTENCE_END.finditer(line):
            if _GOES_ON.search(line[begin : match.start()]):
                continue
            yield from _fitting(line[begin : match.end()])
            begin = match.end()
        yield from _fitting(line[begin:])


def _fitting(text: str) -> Iterator[str]:
    stripped = " ".join(text.split())
    if SHORTEST <= len(stripped) <= LONGEST:
        yield stripped


def _template(row: _Statement) -> tuple[str, str]:
    """The cue that is not to be repeated, and the template."""
    rows = [(before, cue, template) for kind, before, cue, template in _TEMPLATES if kind == row.claim.kind]
    ahead = row.text[: row.claim.start]
    near = row.text[max(0, row.claim.start - NEAR) : row.claim.end + NEAR // 2]
    for before, cue, template in rows:
        if before and re.search(rf"\b(?:{before})\s*\Z", ahead, re.IGNORECASE):
            return cue, template
    return next(
        (cue, template) for _, cue, template in rows if not cue or re.search(rf"\b(?:{cue})\b", near, re.IGNORECASE)
    )


def _wordings(template: str, phrases: Sequence[str]) -> Iterator[str]:
    """The question with its phrases in one order and another, then with fewer of them."""
    for chosen in (list(phrases), list(reversed(phrases)), list(phrases[:2]), list(reversed(phrases[:2]))):
        listed = chosen[0] if len(chosen) == 1 else f"{', '.join(chosen[:-1])} and {chosen[-1]}"
        yield template.format(listed)


def _as_written(run: Sequence[tuple[str, int]], text: str) -> str:
    """The run's words; the one that begins a sentence in lower case, unless it is an abbreviation."""
    words = [word for word, _ in run]
    at = run[0][1]
    if (at == 0 or text[at - 2 : at] in (". ", ": ")) and not words[0].isupper():
        words[0] = words[0].lower()
    return " ".join(words)


def _value_pattern(value: str) -> str:
    """`value` as text states it: any dash, blanks as one, and not as part of a longer number or word."""
    body = "".join(_escaped(character) for character in value)
    before = r"(?<!\w)" if value[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if value[-1].isalnum() else ""
    return before + body + after


def _word_pattern(word: str) -> str:
    return r"\b" + "".join(_escaped(character) for character in word) + r"\b"


def _escaped(character: str) -> str:
    if character == "-":
        return "[-‐‑‒–—−]"
    # re.escape would put a backslash before blanks too, which nobody can read.
    return character if character.isalnum() or character in " ,%€£/:;_" else re.escape(character)


def _is_content(word: str) -> bool:
    """Whether a word can stand for what a statement is about: none of the small words, no adverb, no participle."""
    lower = word.lower()
    if lower in _STOP or (len(word) > 4 and lower.endswith(("ly", "ed"))):
        return False
    return len(word) > 3 or (len(word) > 1 and word.isupper())


def _content(text: str) -> Iterator[str]:
    return (match[0].lower() for match in _WORD.finditer(text) if _is_content(match[0]))


def _words(text: str) -> Iterator[str]:
    return (match[0].lower() for match in _WORD.finditer(text))


def _sequence(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "
