"""The forms of an answer that count as a plain statement: a small closed grammar, most of it data of the expectation file.

Decides whether a text consists of nothing but known forms. It never decides whether a text is wrong: what has no known form is not
understood, and a person must look. No list of harmless words is kept, since harmless words make misleading sentences.

An answer is a row of items, parted by signs:
- the question's own statement: its value alone, or one of the sentences of the expectation file;
- after it, remarks of the expectation file, and what the value is not (`not January 24, 2020`; `this is not the compliance date`);
- a statement of another question, with that question's right value;
- citations, with the words that lead to one (`source`, `see page … of …`) and the titles of the documents.

Templates of the expectation file: words and signs stand for themselves, `V` for the value, `[a|b]` may be left out, `(a|b)` may not.
A date, number or identifier in a template is matched in any of its spellings.

Forms are functions from tokens and a place to every place where the form may end, so reading takes polynomial time for any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations

from tasks.domain.characters import fold
from tasks.domain.claims import find_claims
from tasks.domain.lexicon import ABBREVIATIONS, DENIAL, HEDGE, PUBLICATION


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, a sign, or a marked span: `=value` for a claim, `~value` for one that competes, CITED, DENIED or OPAQUE."""

    text: str
    start: int
    end: int
    capital: bool = False


CITED = "<cited>"
DENIED = "<denied>"
OPAQUE = "<?>"
"""A marked span that no form matches."""

LONGEST = 120
"""Tokens of an answer that are read: twice what an answer of 300 characters has in prose."""


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens of one answer, with the places that were already worked out for it."""

    tokens: tuple[Token, ...]
    known: dict[tuple[Form, int], frozenset[int]] = field(default_factory=dict)

    def text(self, at: int) -> str:
        return self.tokens[at].text if at < len(self.tokens) else ""


Form = Callable[[Row, int], frozenset[int]]

_NOWHERE: frozenset[int] = frozenset()
_TOKEN = re.compile(r"[^\W\d_]+(?:['.-][^\W\d_]+)*|\d+|\S")
_DROPPED = frozenset("\"'*_#§✓✔✅")
_SIGNS = {**dict.fromkeys(".;!|/•·\n", ";"), "=": ":", "[": "(", "]": ")", "{": "(", "}": ")"}
_GAPS = (",", ";", ":", "(", ")")


def tokens(folded: str, spans: Mapping[tuple[int, int], str]) -> list[Token]:
    """The tokens of a folded text; `spans` gives the token that stands for each marked place, or several parted by blanks."""
    found: list[Token] = []
    position = 0
    for (start, end), text in [*sorted(spans.items()), ((len(folded), len(folded)), "")]:
        for match in _TOKEN.finditer(folded, position, start):
            found.extend(_word(folded, match, found))
        parts = [text] if text.startswith(("=", "~")) else text.split()
        found.extend(Token(part, start, end) for part in parts)
        position = end
    return found


def _word(folded: str, match: re.Match[str], before: Sequence[Token]) -> Iterable[Token]:
    sign, (start, end) = match[0], match.span()
    if sign in _DROPPED:
        return
    last = before[-1] if before else None
    if sign == "." and last is not None and last.end == start and last.text in ABBREVIATIONS:
        return
    if sign == "-" and not (folded[start - 1 : start].strip() and folded[end : end + 1].strip()):
        sign = ";"  # a dash parts, a hyphen joins
    yield Token(_SIGNS.get(sign, sign.lower()), start, end, sign[0].isupper())


# -- combinators --------------------------------------------------------------------------------------------------------------------------


def word(*texts: str) -> Form:
    """One token out of `texts`; a claim is matched whether or not it competes with the question's value."""
    wanted = frozenset(texts) | {f"~{text[1:]}" for text in texts if text.startswith("=")}
    return lambda row, at: frozenset({at + 1}) if row.text(at) in wanted else _NOWHERE


def sequence(*forms: Form) -> Form:
    def read(row: Row, at: int) -> frozenset[int]:
        places = frozenset({at})
        for form in forms:
            places = frozenset(end for place in places for end in form(row, place))
        return places

    return read


def choice(*forms: Form) -> Form:
    return lambda row, at: frozenset(end for form in forms for end in form(row, at))


def optional(form: Form) -> Form:
    return lambda row, at: form(row, at) | {at}


def repeated(form: Form) -> Form:
    """`form` any number of times, also not at all."""

    def read(row: Row, at: int) -> frozenset[int]:
        places, fresh = {at}, {at}
        while fresh:
            fresh = {end for place in fresh for end in form(row, place)} - places
            places |= fresh
        return frozenset(places)

    return read


def remembered(form: Form) -> Form:
    """`form`, worked out once for each place of a row."""

    def read(row: Row, at: int) -> frozenset[int]:
        if (form, at) not in row.known:
            row.known[(form, at)] = form(row, at)
        return row.known[(form, at)]

    return read


def phrase(text: str) -> Form:
    return sequence(*(word(token.text) for token in _plain(text)))


def phrases(*texts: str) -> Form:
    return choice(*map(phrase, texts))


def _plain(text: str) -> list[Token]:
    folded = fold(text)
    spans = {(c.start, c.end): f"={c.values[0]}" for c in find_claims(folded) if c.values}
    return tokens(folded, spans)


# -- templates ----------------------------------------------------------------------------------------------------------------------------

_BRACKETS = re.compile(r"[\[\]()|]|[^\[\]()|]+")


def parse_template(template: str, value: Form) -> Form:
    """The form that a template of the expectation file describes. Raises ValueError for brackets that do not pair."""
    pieces = _BRACKETS.findall(template)
    form, at = _alternatives(pieces, 0, value)
    if at != len(pieces):
        raise ValueError(f"{template!r} closes a bracket that it does not open")
    return form


def _alternatives(pieces: Sequence[str], at: int, value: Form) -> tuple[Form, int]:
    ways: list[list[Form]] = [[]]
    while at < len(pieces) and pieces[at] not in {"]", ")"}:
        piece = pieces[at]
        at += 1
        if piece in {"[", "("}:
            inner, at = _alternatives(pieces, at, value)
            if at >= len(pieces) or pieces[at] != {"[": "]", "(": ")"}[piece]:
                raise ValueError("a bracket is not closed")
            ways[-1].append(optional(inner) if piece == "[" else inner)
            at += 1
        elif piece == "|":
            ways.append([])
        else:
            parts = re.split(r"(?<!\S)V(?!\S)", piece)
            for n, part in enumerate(parts):
                ways[-1] += [value] if n else []
                ways[-1].append(phrase(part))
    return choice(*(sequence(*way) for way in ways)), at


# -- the grammar of an answer -------------------------------------------------------------------------------------------------------------

_gap = word(*_GAPS)
_connective = word("and", "but", "while", "whereas")
_the = optional(word("the", "a", "an"))
_answer = choice(sequence(_the, word("answer", "value", "date"), optional(word("is", ":"))), phrases("it is", "it's"))
_naming = choice(
    word(
        "the", "field", "number", "name", "named", "called", "known", "as", "data", "element", "id", "code", "is", "and"
    ),
    phrases("field no", "field nos", "which is"),
    _gap,
)
_roman = word("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
# No word here may say more of the value before it ("in part", "at first", "by then"): such words stand only in whole phrases.
_leading = choice(
    word(
        *(
            "source sources see cf cited citation reference ref document documents file page pages pdf of in on at from per".split()
        ),
        *("the is are as and stated states says given gives found read reads".split()),
    ),
    phrases("can be found", "may be found", "published in", "according to", "my source", "dates section"),
    sequence(word("part", "section"), _roman, optional(sequence(_gap, word("dates")))),
    sequence(_gap, word("summary", "preamble", "dates")),
    _gap,
)


@dataclass(frozen=True, slots=True)
class Wording:
    """How one question is answered in words: what the expectation file says of it, see `expectations`."""

    values: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    contrasts: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def value(self) -> Form:
        """The value with all its terms, in any order, with the words that name a name or a number between them."""
        parts = [sequence(_the, word(*(f"={value}" for value in self.values)))] if self.values else []
        parts += [phrase(term) for term in self.terms]
        if len(parts) < 2:
            return sequence(*parts)
        between = repeated(choice(_naming, *map(phrase, self.labels)) if self.labels else _naming)
        return choice(
            *(sequence(between, *(f for part in order for f in (part, between))) for order in permutations(parts))
        )

    @property
    def name(self) -> Form:
        """The question's value by its name: `the effective date`."""
        return sequence(
            _the, phrases(*self.labels), optional(word("date", "deadline", "field", "number")), optional(word("itself"))
        )


@lru_cache(maxsize=64)
def answer_forms(
    own: Wording, others: tuple[Wording, ...], titles: frozenset[str], on_page: frozenset[str], cites: bool
) -> tuple[Form, Form, Form]:
    """The question's own statement with what may follow it, the statements of `others`, and a citation.

    `titles` are those of the cited documents, `on_page` the competing values that a cited page carries; `cites` is True where the
    citation itself is the answer.
    """
    named = [part for title in titles for part in [title, *re.split(r"[,()]|\s-\s", title)] if part.strip()]
    lead = remembered(choice(_leading, *(phrase(part) for part in named)))
    after = remembered(repeated(choice(lead, word(CITED))))
    citation = remembered(sequence(repeated(lead), word(CITED), after))
    stated = [other for other in others if other.values]
    # What the value is not.
    published = sequence(
        _the,
        choice(
            sequence(phrases(*PUBLICATION), optional(word("date"))), phrases("date of publication", "date of issue")
        ),
    )
    taken = {f"={value}" for other in stated for value in other.values}
    rivals = [(other.name, other.value) for other in stated if other.labels] + [
        (published, word(*on_page.difference(taken)))
    ]
    joint = optional(choice(_gap, word("of", "on")))
    which = optional(sequence(word("which", "that"), word("is", "was")))
    expected = sequence(
        *(optional(_gap), word("which", "that"), word("is", "was"), optional(word("only", "merely", "just"))),
        word("expected", "proposed", "planned", "foreseen"),
    )
    wrong = choice(
        *(sequence(name, optional(sequence(joint, value))) for name, value in rivals),
        *(sequence(value, optional(_gap), which, name) for name, value in rivals),
        sequence(_the, optional(word("expected", "proposed")), _competing, _name, optional(expected)),
        sequence(_the, _name, optional(_gap), _competing, optional(_gap)),
        *(sequence(_the, phrase(contrast)) for contrast in own.contrasts),
        word(DENIED),
    )
    denying = choice(
        sequence(
            optional(_connective),
            optional(sequence(word("it", "this", "that", "which"), word("is", "was"))),
            phrases("not", "rather than", "instead of", "as opposed to"),
        ),
        sequence(phrases("do not confuse", "not to be confused"), optional(word("it", "this")), word("with")),
    )
    aside = choice(
        sequence(denying, optional(word("on", "by", "to", "from")), wrong),
        *(
            sequence(name, optional(_gap), optional(sequence(value, optional(_gap))), phrase("is not"), own.name)
            for name, value in rivals
        ),
    )
    # The statement itself.
    plain = [parse_template(template, own.value) for template in own.short or ("V",)]
    sentences = [parse_template(template, own.value) for template in own.statements]
    statement = citation if cites else choice(*(sequence(optional(_answer), form) for form in plain), *sentences)
    remark = remembered(choice(*(parse_template(template, own.value) for template in own.remarks)))
    link = remembered(repeated(choice(_gap, citation)))
    statement = choice(statement, sequence(aside, repeated(_gap), word("but"), statement))
    # A remark never follows what the value is not: it would be said of that.
    whole = sequence(
        statement,
        *(repeated(sequence(link, optional(word("and")), following)) for following in (remark, remembered(aside))),
    )
    beside = choice(*(parse_template(template, other.value) for other in stated for template in other.statements))
    return whole, beside, citation


def _competing(row: Row, at: int) -> frozenset[int]:
    text = row.text(at)
    return frozenset({at + 1}) if text.startswith("~") and len(text) > 1 else _NOWHERE


def _name(row: Row, at: int) -> frozenset[int]:
    """Up to four capitalised words, as the name of a thing that the value is not."""
    ends = [at]
    for token in row.tokens[at : at + 4]:
        if not token.capital or DENIAL.touches(token.text) or HEDGE.touches(token.text):
            break
        ends.append(ends[-1] + 1)
    return frozenset(ends)


def read_answer(row: Row, own: Form, beside: Form, citation: Form) -> int | None:
    """None if the tokens are items of the three kinds, the question's own among them; else the place of the first token not understood.

    Two items need a sign or a connective between them, except where one of them is a citation; the statement of another question needs
    more than a comma.
    """
    start = (0, True, False)
    states, fresh = {start}, {start}
    joined = optional(_connective)
    while fresh and len(row.tokens) <= LONGEST:
        reached: set[tuple[int, bool, bool]] = set()
        for at, free, said in fresh:
            reached |= {(end, True, said) for end in choice(_gap, citation)(row, at)}
            lead = joined if free else _connective
            reached |= {(end, False, True) for end in sequence(lead, own)(row, at)}
            # After a comma the name of another question may still belong to the value before it.
            apart = joined if at == 0 or row.text(at - 1) in {";", "(", ")"} else _connective
            reached |= {(end, False, said) for end in sequence(apart, beside)(row, at)}
        fresh = reached - states
        states |= fresh
    if {(len(row.tokens), True, True), (len(row.tokens), False, True)} & states:
        return None
    return max(at for at, _, _ in states)
