"""What speaks against a value in the sentence that names it: a denial, a hedge, a question, a bound, another label.

Decides from words and their places alone; it knows no value, no page and no form. The caller marks the spans that matter (`Mark`) and gets
back `Doubt`s: each one a reason why the text is not a plain assertion of its marked value. It never decides whether a value is right, and
a text without a doubt is not thereby accepted: only a text that `forms` knows from end to end is.

Rules
1. Text falls into clauses at . ; ! ? dashes and brackets (what stands in brackets is a clause of its own and does not cut the one around
   it), clauses into segments at commas and at the words of `PARTING`.
2. A word of denial refutes the value of its clause, before or after it, at any distance.
3. The one denial that is accepted is about something else: a segment that holds another value, or the name of another question, after the
   denying word, holds neither the value nor its own label, has one denying word, and does not run on into the value
   ("460-ET, not 403-D3"; "not March 17, 2020, but March 24, 2020"; "this is not the compliance date").
4. A hedge, an alternative, a question or a bound ("before …") refutes the value of its clause in the same way.
5. A denial or hedge in a clause without the value refutes it if it points back ("this is wrong"), else leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tasks.domain.characters import fold
from tasks.domain.lexicon import (
    ABBREVIATIONS,
    BOUNDS,
    CONTRAST,
    DENIAL,
    FINITE,
    HEDGE,
    ITSELF,
    PARTING,
    PHRASES,
    POINTING_BACK,
    PRONOUNS,
    REPLACING,
    RESTART,
    SETTING_ASIDE,
)


class Role(StrEnum):
    """What a marked span is to the question: its value, words of it, a value that competes with it, a citation, or anything else."""

    VALUE = "value"
    TERM = "term"
    OTHER = "other"
    CITATION = "citation"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Mark:
    start: int
    end: int
    role: Role


@dataclass(frozen=True, slots=True)
class Doubt:
    """`refutes` is False where a person must decide. `reason` is a sentence's end that names the words; `clause` the words around them."""

    refutes: bool
    reason: str
    clause: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """`doubts` about the marked value; `denied` the marks that the text itself sets aside as not so; `labels` the label bound to each mark.

    A label is the index of the label group that stands nearest to the mark, before it rather than after it; None without one.
    """

    doubts: tuple[Doubt, ...]
    denied: frozenset[Mark]
    labels: dict[Mark, int | None]


OWN = 0
"""The label group of the question itself."""

_STRUCK = frozenset({"!=", "=/=", "~~", "<s>", "<del>", "<strike>"})
_DENIAL_MARKS = frozenset("≠✗✘✖❌🚫¬^")
_HEDGE_MARKS = frozenset("~±≈<>≤≥%$°")
_TOKEN = re.compile(r"[^\W\d_]\.\d+|[^\W\d_]+(?:['.-][^\W\d_]+)*|\d+|!=|=/=|~~|</?[A-Za-z]+>|\S", re.UNICODE)


@dataclass(slots=True)
class _Token:
    text: str
    start: int
    end: int
    mark: Mark | None = None
    phrase: bool = False
    label: int | None = None
    contrast: bool = False
    either: bool = False

    @property
    def word(self) -> str:
        return "" if self.mark else self.text.lower()


def stem(word: str) -> str:
    """A crude stem, the same for the forms of one word in answer and page: `distinguishes` and `distinguish`."""
    base = word.lower()
    for suffix in ("'s", "ing", "ies", "ed", "es", "ly", "s", "e"):
        if base.endswith(suffix) and len(base) - len(suffix) >= 4:
            return base[: -len(suffix)] + ("y" if suffix == "ies" else "")
    return base


def _denies(token: _Token) -> bool:
    if token.mark or token.phrase:
        return False
    word = token.word
    if word in _DENIAL_MARKS or word in _STRUCK or word.endswith("n't"):
        return True
    return DENIAL.touches(word)


def _tokens(folded: str, marks: Sequence[Mark]) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    for mark in [*sorted(marks, key=lambda m: (m.start, m.end)), None]:
        end = mark.start if mark else len(folded)
        if end > position:
            tokens.extend(_Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(folded, position, end))
        if mark and mark.end > position:
            tokens.append(_Token(folded[mark.start : mark.end], mark.start, mark.end, mark))
            position = mark.end
    return tokens


def _tag_phrases(tokens: list[_Token], folded: str) -> None:
    words = [token.word for token in tokens]
    for i in range(len(tokens)):
        for phrase in PHRASES:
            if tuple(words[i : i + len(phrase)]) == phrase and not tokens[i].phrase:
                for token in tokens[i : i + len(phrase)]:
                    token.phrase = True
                break
        # "Field No. 460-ET" counts and denies nothing; at the head of a sentence "No. 460-ET" may be either.
        if (
            words[i] in {"no", "nos"}
            and i + 2 < len(tokens)
            and words[i + 1] == "."
            and tokens[i + 2].text[0].isdigit()
        ):
            tokens[i].phrase = True
            tokens[i].either = i == 0 or words[i - 1] in {".", ";", "!", "?", ":", "-"}


def _runs(tokens: list[_Token], phrase: str) -> Iterator[list[_Token]]:
    """The runs of tokens that are the words of `phrase`, whatever their endings."""
    parts = [stem(part) for part in re.split(r"[\s-]+", fold(phrase).lower()) if part]
    stems = [stem(token.word) for token in tokens]
    for i in range(len(tokens) - len(parts) + 1):
        if parts and stems[i : i + len(parts)] == parts:
            yield tokens[i : i + len(parts)]


def _tag_labels(tokens: list[_Token], labels: Sequence[Sequence[str]], contrasts: Sequence[str]) -> None:
    for group, phrases in enumerate(labels):
        for phrase in phrases:
            for run in _runs(tokens, phrase):
                for token in run:
                    token.label = group if token.label is None else token.label
    for phrase in contrasts:
        for run in _runs(tokens, phrase):
            for token in run:
                token.contrast = True


def _clauses(tokens: list[_Token]) -> list[tuple[list[_Token], str]]:
    """Clauses with the sign that ends each; bracketed text is a clause of its own and leaves the one around it whole."""
    done: list[tuple[list[_Token], str]] = []
    stack: list[list[_Token]] = [[]]
    for i, token in enumerate(tokens):
        sign = "" if token.mark else token.text
        before = tokens[i - 1] if i else None
        if sign in {"(", "[", "{"}:
            stack.append([])
        elif sign in {")", "]", "}"} and len(stack) > 1:
            inner = stack.pop()
            if inner and all(token.mark and token.mark.role is not Role.CITATION for token in inner):
                stack[-1].extend(inner)  # "Fill Number (403-D3)": only another way to name it
            else:
                done.append((inner, sign))
        elif sign in {".", ";", "!", "?"}:
            abbreviated = (
                sign == "."
                and before is not None
                and before.end == token.start
                and before.word in ABBREVIATIONS
                and (before.phrase or before.word not in {"no", "nos"})
            )
            if not abbreviated:
                done.append((stack[-1], sign))
                stack[-1] = []
        elif sign == "-" and before is not None and before.end < token.start:
            done.append((stack[-1], sign))
            stack[-1] = []
        else:
            stack[-1].append(token)
    done.extend((rest, "") for rest in reversed(stack))
    return [(clause, sign) for clause, sign in done if clause or sign == "?"]


def _segments(clause: list[_Token]) -> list[list[_Token]]:
    segments: list[list[_Token]] = [[]]
    for i, token in enumerate(clause):
        word = token.word
        after_mark = i > 0 and clause[i - 1].mark is not None
        if word == ",":
            segments.append([])
        elif not token.phrase and (word in PARTING or word in CONTRAST or (word in {"not", "never"} and after_mark)):
            # "and not", "but rather": one boundary, not two.
            if segments[-1] and not all(t.word in PARTING for t in segments[-1]):
                segments.append([])
            segments[-1].append(token)
        else:
            segments[-1].append(token)
    return [segment for segment in segments if segment]


def _roles(tokens: Sequence[_Token]) -> set[Role]:
    return {token.mark.role for token in tokens if token.mark}


def _sets_aside(segments: list[list[_Token]], i: int, subject: Collection[Role]) -> bool:
    """Rule 3: whether segment `i` only says of something else that it is not so."""
    segment = segments[i]
    denials = [j for j, token in enumerate(segment) if _denies(token)]
    if len(denials) != 1 or _roles(segment) & set(subject):
        return False
    word = segment[denials[0]].word
    if word not in SETTING_ASIDE and not word.endswith("n't"):
        return False
    tail = segment[denials[0] + 1 :]
    foreign = any(token.label not in {None, OWN} or token.contrast for token in tail)
    # "page 1, not page 5": a page is set aside beside another one.
    pages = Role.CITATION not in subject and i > 0 and Role.CITATION in _roles(segments[i - 1])
    named = [
        n
        for n, t in enumerate(tail)
        if t.mark and (t.mark.role is Role.OTHER or (pages and t.mark.role is Role.CITATION))
    ]
    # "not the source 403-D3": it is the source that is denied.
    direct = bool(named) and not any(token.word in ITSELF for token in tail[: named[0]])
    if any(token.label == OWN for token in tail) or not (direct or foreign):
        return False
    if i + 1 < len(segments) and _roles(segments[i + 1]) & set(subject):
        following = segments[i + 1]
        lead = []
        for token in following:
            if token.mark:
                break
            lead.append(token.word)
        # The next segment must plainly start anew: "but March 24, 2020", ", it is March 24, 2020".
        return bool(lead) and (
            lead[0] in RESTART or (any(word in FINITE for word in lead) and not any(_denies(t) for t in following))
        )
    return True


def _about_another(clause: list[_Token], subject: Collection[Role]) -> bool:
    """Rule 3 for a whole clause: it says of another value that it is not the one asked for (`May 1 is not the effective date`;
    `it replaces 403-D3`)."""
    first = clause[: next((i for i, token in enumerate(clause) if token.mark), 0)]
    if any(token.word in REPLACING for token in first):
        return not _roles(clause) & set(subject)
    denials = [i for i, token in enumerate(clause) if _denies(token)]
    if len(denials) != 1 or any(token.word in PRONOUNS for token in clause):
        return False
    before, after = clause[: denials[0]], clause[denials[0] + 1 :]
    named = [i for i, token in enumerate(before) if token.mark and token.mark.role is Role.OTHER]
    joined = clause[denials[0]].word.endswith("n't") or (
        bool(named) and any(t.word in FINITE for t in before[named[-1] :])
    )
    return (
        bool(named)
        and joined
        and not _roles(after)
        and _roles(before) == {Role.OTHER}
        and not _roles(clause) & set(subject)
    )


def _quote(tokens: Sequence[_Token], folded: str) -> str:
    if not tokens:
        return ""
    words = folded[tokens[0].start : tokens[-1].end]
    return words if len(words) <= 120 else words[:117] + "…"


def _labels_of_marks(tokens: list[_Token], aside: Collection[int]) -> dict[Mark, int | None]:
    """Bind each value to the nearest label before it that no earlier value has taken, else to the nearest one after it.

    A label at one of the places `aside` names only what is set aside with it: "September 21, 2020, not by the effective date".
    """
    bound: dict[Mark, int | None] = {}
    taken: set[int] = set()
    marks = [
        (i, token.mark) for i, token in enumerate(tokens) if token.mark and token.mark.role in {Role.VALUE, Role.OTHER}
    ]

    def free(places: Iterable[int], mark: Mark) -> list[int]:
        usable = mark.role is Role.OTHER
        return [j for j in places if tokens[j].label is not None and j not in taken and (usable or j not in aside)]

    for n, (i, mark) in enumerate(marks):
        before = free(range(i), mark)
        after = free(range(i + 1, marks[n + 1][0] if n + 1 < len(marks) else len(tokens)), mark)
        # "March 24, 2020 is the compliance date": a verb binds a label to the value before it.
        verb = bool(after) and any(token.word in FINITE for token in tokens[i + 1 : after[0]])
        if before:
            bound[mark] = tokens[before[-1]].label
        else:
            bound[mark] = tokens[after[0]].label if verb else None
        taken.update(before)
        if verb and not before:
            taken.update(after)
    for n, (i, mark) in enumerate(marks):
        if bound[mark] is None:
            after = free(range(i + 1, marks[n + 1][0] if n + 1 < len(marks) else len(tokens)), mark)
            bound[mark] = tokens[after[0]].label if after else None
    return bound


def read_assertion(
    text: str,
    marks: Sequence[Mark],
    *,
    labels: Sequence[Sequence[str]] = ((),),
    contrasts: Sequence[str] = (),
    subject: Collection[Role] = (Role.VALUE, Role.TERM),
) -> Assertion:
    """How `text` stands to its marked value.

    `marks` are spans of `fold(text)` that do not overlap; `labels[0]` are the names of the question itself, each further group
    the names of something else; `contrasts` are words that the answer may say it does not mean; `subject` are the roles that are the
    value itself.
    """
    folded = fold(text)
    tokens = _tokens(folded, marks)
    _tag_phrases(tokens, folded)
    _tag_labels(tokens, labels, contrasts)
    doubts: list[Doubt] = []
    denied: set[Mark] = set()
    bound: dict[Mark, int | None] = {}
    for clause, sign in _clauses(tokens):
        quote = _quote(clause, folded)
        holds = bool(_roles(clause) & set(subject))
        if sign == "?":
            if holds or not any(token.word.isalpha() for token in clause):
                doubts.append(Doubt(True, "it is put as a question", quote or "?"))
            elif any(_denies(token) for token in clause):
                doubts.append(Doubt(False, "it asks whether something is not so", quote))
            continue
        if _about_another(clause, subject):
            denied |= {token.mark for token in clause if token.mark}
            continue
        segments = _segments(clause)
        aside = [_sets_aside(segments, i, subject) for i in range(len(segments))]
        out = {id(token) for segment, away in zip(segments, aside, strict=True) if away for token in segment}
        bound |= _labels_of_marks(clause, [i for i, token in enumerate(clause) if id(token) in out])
        words = {token.word for token in clause}
        points = (
            any(word in POINTING_BACK for word in words)
            or any(token.label == OWN for token in clause)
            or len(clause) <= 3
        )
        for segment, set_aside in zip(segments, aside, strict=True):
            if set_aside:
                denied |= {token.mark for token in segment if token.mark}
                continue
            for j, token in enumerate(segment):
                if token.either:
                    doubts.append(Doubt(False, f"“{token.text}.” may deny it or count it", quote))
                if token.mark or token.phrase:
                    continue
                word = token.word
                if _denies(token):
                    doubts.append(Doubt(holds or points, f"the word “{word}” denies it", quote))
                    denied |= {t.mark for t in clause if t.mark and t.mark.role is Role.CITATION}
                elif word in BOUNDS and _next_is_subject(segment, j, subject):
                    doubts.append(Doubt(True, f"“{word}” makes a bound of it", quote))
                elif HEDGE.touches(word) or word in _HEDGE_MARKS:
                    doubts.append(Doubt(holds or points, f"the word “{word}” hedges it", quote))
    return Assertion(tuple(doubts), frozenset(denied), bound)


def _next_is_subject(segment: list[_Token], j: int, subject: Collection[Role]) -> bool:
    for token in segment[j + 1 :]:
        if token.mark:
            return token.mark.role in subject
        if token.word not in {"the", "on", "of", "to", "or", "a", "date", "day"}:
            return False
    return False
