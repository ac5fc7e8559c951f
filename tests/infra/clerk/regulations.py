"""Invented regulations, and a search over them that a test can follow.

No value here is a real one: whatever the clerk files from these texts it has copied. The traps are those of real documents:
expected months in a later page of the same rule, another rule's dates, an identifier that a commenter asked for, a date that is
neither of the two, values split between lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from infra.offline_model.clerk.likeness import words


@dataclass(frozen=True)
class Regulations:
    """The invented rule's values and the passages that carry them."""

    rule: str = "HHS-7781-F"
    document: str = "hhs-7781-f-final-rule-2031.pdf"
    identifier: str = "813-QT"
    name: str = "Measured Amount"
    effective: str = "May 9, 2031"
    compliance: str = "November 5, 2031"
    without: frozenset[str] = frozenset()
    other_rule: tuple[str, str] = ("June 2, 2028", "December 1, 2028")
    extra: tuple[tuple[str, int, str], ...] = field(default=())

    @property
    def passages(self) -> list[tuple[str, int, str]]:
        """(document, page, text); parts named in `without` are left out."""
        printed = self.identifier.replace("-", "\u2013")
        parts = [
            (
                "identifier", self.document, 3,
                f"[{self.rule}] SUMMARY: This final rule requires covered entities to use the {self.name} ({printed}) field "
                "for retail pharmacy transactions for Schedule II drugs. It lets them tell a ‘‘partial fill’’ from a refill.",
            ),
            (
                "effective", self.document, 3,
                f"DATES: Effective Date: This final rule is effective on {self.effective.replace(' ', chr(10), 1)}. "
                "Incorporation by reference: The incorporation of certain publications was approved as of March 17, 2009.",
            ),
            (
                "compliance", self.document, 3,
                f"Compliance Date: Compliance with these regulations is required by {self.compliance}. FOR FURTHER "
                "INFORMATION CONTACT: the office named above.",
            ),
            (
                "trap", self.document, 6,
                "In the regulatory agenda we noted that this final rule would be published in February 2031. Based on that, we "
                "anticipate that the effective date of this rule will be in April 2031 and the compliance date in October 2031.",
            ),
            (
                "trap", self.document, 5,
                "A commenter recommended that a partial fill of a Schedule II drug be told instead by the Days Intended (227–B4) "
                "field. We decline.",
            ),
            (
                "other", "hhs-6120-f-older-rule-2028.pdf", 1,
                f"[HHS-6120-F] DATES: This final rule is effective on {self.other_rule[0]}. Covered entities must comply with the "
                f"rule no later than {self.other_rule[1]}.",
            ),
            ("other", "timeline.pdf", 1, "Operating rules for electronic transfers are adopted, effective Jan 1, 2013."),
        ]  # fmt: skip
        kept = [(document, page, text) for part, document, page, text in parts if part not in self.without]
        return [*kept, *self.extra]

    def search(self, log: list[str] | None = None, most: int = 4) -> Callable[[str], list[dict[str, Any]]]:
        """A search by shared words, best first, that appends each query to `log`."""

        def run(query: str) -> list[dict[str, Any]]:
            if log is not None:
                log.append(query)
            asked = set(words(query))
            scored = [(len(asked & set(words(text))), -number) for number, (_, _, text) in enumerate(self.passages)]
            found = [self.passages[-number] for score, number in sorted(scored, reverse=True)[:most] if score > 1]
            return [block(document, page, text) for document, page, text in found] or [
                {"type": "text", "text": "No passage found."}
            ]

        return run

    def with_values(self, **values: str) -> Regulations:
        return replace(self, **values)


def block(document: str, page: int, text: str) -> dict[str, Any]:
    """One passage as the search tool returns it."""
    return {
        "type": "search_result",
        "source": f"{document}#page={page}",
        "title": f"An invented rule — {document}, page {page}",
        "content": [{"type": "text", "text": text}],
        "citations": {"enabled": True},
    }


TASK = """
File the quarterly quality-improvement report in the web portal that is open on the screen.

Report ID: QI-2025-014
Quarter: Q3 2025
Department: Pharmacy

Look every regulatory fact up with search_regulations. Write each answer as value (document, page N).
"""
