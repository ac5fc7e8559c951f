"""Sets the three PDFs of corpus/sample in type: `python -m infra.sample_corpus [FOLDER]`.

It decides how the sample documents look and holds every word of them. The words are our own; the facts and figures are those of the
federal publications. It is run by hand when a word changes; the PDFs are committed, and their sha256 go into corpus.toml.

The rule is set like the Federal Register, so that extraction meets the same difficulties: three narrow columns, real hyphens at line
ends, dashes at line ends, running heads, an imprint line at the foot, turned text in the margin, footnotes set before the columns that
they belong to, and dates that were expected on one page and fixed on another. The same input gives the same bytes: core fonts, no compression,
fixed dates.

In the texts below `~` is a place where a word may be broken.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fpdf import FPDF

DEFAULT_FOLDER = Path(__file__).resolve().parent.parent / "corpus" / "sample" / "documents"
RULE, BULLETIN, TIMELINE = (
    "sample-rule-partial-fills.pdf",
    "sample-bulletin-partial-fills.pdf",
    "sample-timeline-standards.pdf",
)
BANNER = "SAMPLE — written for the Filewright demonstration, not an official document"

WIDTH, HEIGHT = 612.0, 440.0
LETTER = 792.0
LEFT, COLUMN, GUTTER = 45.0, 162.0, 15.0
TOP, BOTTOM = 56.0, HEIGHT - 56.0
SIZE, LEADING, INDENT = 9.5, 12.0, 9.0

# (style, text): h a heading, p an indented paragraph, r a paragraph that begins with a bold word, b a bulleted item.
RULE_TEXT: tuple[tuple[str, str], ...] = (
    ("h", "SAMPLE RULE ON PARTIAL FILLS"),
    ("h", "45 CFR Part 162"),
    ("h", "[CMS–0055–F]"),
    (
        "p",
        "This sample re~tells in plain words what a federal rule of 2020 lays down. It was written so that the Filewright demon~stra~tion "
        "runs with~out a down~load. Nobody should rely on it; the of~fi~cial text stands in the Federal Reg~is~ter.",
    ),
    (
        "r",
        "SUMMARY: Retail phar~ma~cies bill health plans elec~tron~i~cally under a na~tional stan~dard that is known as Ver~sion D.0. So far the "
        "stan~dard gave them no de~pend~able way to say that only a part of a pre~scrip~tion had been handed out. Rule CMS–0055–F makes one "
        "data el~e~ment com~pul~sory when~ever a Sched~ule II drug is billed: Quan~tity Pre~scribed (460–ET). With this field a plan can "
        "com~pare what the pre~scriber ordered with what the phar~macy dis~pensed, and so tell a par~tial fill from a re~fill.",
    ),
    ("h", "I. Why the field is needed"),
    (
        "p",
        "Sched~ule II drugs have a rec~og~nized med~i~cal use and a high risk of de~pend~ence. The law does not let any~body re~fill such a "
        "pre~scrip~tion. It does allow a phar~ma~cist to divide one, for in~stance when the stock on the shelf is too small, when the pa~tient "
        "lives in a long-term care home, or when the pa~tient is ter~mi~nally ill.",
    ),
    (
        "p",
        "An audit that the In~spec~tor Gen~eral pub~lished in Sep~tem~ber 2012 went through Medi~care claims of the year 2009. It counted 397,203 "
        "ap~par~ent re~fills of Sched~ule II drugs, for which the pro~gram had paid $25 mil~lion.1 Three quar~ters of them came from "
        "phar~ma~cies that serve long-term care homes. The Cen~ters for Medi~care & Medi~caid Ser~vices read the same records dif~fer~ently: most "
        "entries were prob~a~bly par~tial fills that had been num~bered in the Fill Num~ber (403–D3) field.",
    ),
    (
        "p",
        "A stat~ute of July 22, 2016, the Com~pre~hen~sive Ad~dic~tion and Re~cov~ery Act, made di~vided pre~scrip~tions more com~mon. It per~mits "
        "them when~ever the pa~tient or the pre~scriber asks, as long as the por~tions to~gether do not ex~ceed the or~dered amount.",
    ),
    ("h", "II. How the rule came about"),
    (
        "p",
        "The ad~vi~sory com~mit~tee on vital and health sta~tis~tics rec~om~mended the change on June 21, 2013. A pro~posal fol~lowed on January 31, "
        "2019 (84 FR 633). Fif~teen let~ters ar~rived in time, from plans, phar~macy as~so~ci~a~tions, soft~ware houses and in~di~vid~u~als.",
    ),
    (
        "p",
        "The de~part~ment’s agenda of spring 2019 still fore~saw pub~li~ca~tion in De~cem~ber 2019. Reck~oned from there, the rule was ex~pected to "
        "take ef~fect in Feb~ru~ary 2020, and the com~pli~ance date was ex~pected in Au~gust 2020. Nei~ther month held: pub~li~ca~tion slipped, and "
        "both dates moved with it. Part IV fixes the dates that count.",
    ),
    ("h", "III. Comments and answers"),
    (
        "r",
        "Comment: Sev~eral writ~ers wel~comed the pro~posal as a small step with a large yield. Bet~ter data, they said, would help those who study "
        "opi~oid pre~scrib~ing.",
    ),
    ("r", "Response: The de~part~ment is grate~ful for the sup~port."),
    (
        "r",
        "Comment: Other writ~ers would rather adopt the No~vem~ber 2012 pub~li~ca~tion of Ver~sion D.0 as a whole, in which the field is "
        "sit~u~a~tional in~stead of un~used.",
    ),
    (
        "r",
        "Response: That pub~li~ca~tion holds many other changes as well, and its rule for the field covers only Medi~care Part D. The nar~row "
        "re~quire~ment (460–ET for every Sched~ule II claim) costs less and reaches every~body.",
    ),
    (
        "r",
        "Comment: One writer pre~ferred a com~bi~na~tion of three el~e~ments: Dis~pens~ing Sta~tus (343–HD), Quan~tity In~tended To Be Dis~pensed "
        "(344–HF) and Day Sup~ply In~tended To Be Dis~pensed (345–HG).",
    ),
    (
        "r",
        "Response: Those three serve a phar~macy that has run short of stock. To use them for every kind of par~tial fill would mean far more "
        "pro~gram~ming for every~body in~volved.",
    ),
    ("r", "Comment: Would it not be sim~pler to de~mand the field for Sched~ules III to V too?"),
    (
        "r",
        "Response: Not now. It would bur~den phar~ma~cies with~out serv~ing the pur~pose of this rule.2 The de~part~ment may come back to the "
        "ques~tion.",
    ),
    ("r", "Comment: A writer urged a quick move to Ver~sion F2 of the stan~dard, an~other warned against it."),
    (
        "r",
        "Response: Ver~sion F2 would re~quire large changes. The opi~oid emer~gency, de~clared on Oc~to~ber 26, 2017, calls for an an~swer that can "
        "be built at once.",
    ),
    ("h", "IV. Dates"),
    (
        "r",
        "Effective date: The rule takes ef~fect on March 24, 2020. That is 60 days after it was pub~lished on January 24, 2020.",
    ),
    (
        "r",
        "Compliance date: Cov~ered en~ti~ties must com~ply by Sep~tem~ber 21, 2020. Cov~ered en~ti~ties are health plans, clear~ing~houses and the "
        "phar~ma~cies that send claims elec~tron~i~cally.",
    ),
    (
        "p",
        "Some writ~ers had taken the two dates for one and feared a hard cut-over in the mid~dle of the ben~e~fit year. There is none: be~tween them "
        "phar~ma~cies may send the field, and plans should be ready to re~ceive it. A 24-hour help line is not planned.",
    ),
    ("h", "V. What it costs and saves"),
    (
        "p",
        "The field al~ready ex~ists in the trans~ac~tion, so sys~tems need a set~ting rather than a re~build. Chain phar~ma~cies will spend be~tween "
        "$380,000 and $1,900,000 in all, which is one to five per~cent of what the change to Ver~sion D.0 had cost them. Plans and their ben~e~fit "
        "man~agers will spend be~tween $106,000 and $530,000.",
    ),
    (
        "p",
        "A large chain can save up to $500,000 a year, mostly be~cause fewer pay~ments are con~tested after~wards; a smaller one about $100,000. Over "
        "ten years the sav~ings may reach $10 mil~lion.",
    ),
    ("h", "VI. Other reviews"),
    (
        "p",
        "The rule asks for one more el~e~ment in a mes~sage be~tween pri~vate par~ties. That is a third-party dis~clo~sure in the sense of the "
        "pa~per~work law. The bud~get of~fice has de~cided that it re~views only the first adop~tion of such a stan~dard, so it need not re~view "
        "this one.",
    ),
    (
        "p",
        "Small en~ti~ties: most in~de~pend~ent phar~ma~cies are small busi~nesses. Their share of the cost, in ser~vice fees of $10,800 to $54,000 a year "
        "for all of them to~gether, is too small to call for a sep~a~rate anal~y~sis. A small rural hos~pi~tal, for this pur~pose, is one out~side a "
        "metro~pol~i~tan area with less than a hun~dred beds; the rule does not bur~den it un~duly.",
    ),
    ("h", "VII. Text of the regulation"),
    ("p", "Part 162 of ti~tle 45 is changed in three places:"),
    (
        "b",
        "Sec~tion 162.1102, health care claims: from Sep~tem~ber 21, 2020 the el~e~ment Quan~tity Pre~scribed (460–ET) is re~quired in every claim "
        "for a Sched~ule II drug.",
    ),
    (
        "b",
        "Sec~tion 162.1302, re~fer~ral cer~ti~fi~ca~tion and au~tho~ri~za~tion: from Sep~tem~ber 21, 2020 the same el~e~ment (460–ET) is re~quired "
        "there.",
    ),
    (
        "b",
        "Sec~tion 162.1802, co~or~di~na~tion of ben~e~fits: from Sep~tem~ber 21, 2020 the same el~e~ment (460–ET) is re~quired there too.",
    ),
    (
        "p",
        "In all three the ref~er~ence to later up~dates of the drug lists is struck out, be~cause it was su~per~flu~ous.",
    ),
    ("p", "This sample ends here. It was not signed by any~body."),
)

FOOTNOTES = {
    1: "1 The audit report carries the num~ber OEI–02–09–00605.",
    2: "2 The drugs of each sched~ule are listed in 21 CFR 1308.",
}

BULLETIN_TEXT: tuple[tuple[str, str], ...] = (
    ("h", "Sample information bulletin, January 24, 2020"),
    ("h", "Subject: A field for partial fills (rule CMS-0055-F)"),
    (
        "p",
        "This sample tells pharmacies, health plans and clearinghouses that rule CMS-0055-F has been published. Anyone who bills a Schedule II drug "
        "in the retail pharmacy transaction now has to send one more data element, Quantity Prescribed (460-ET), so that a partial fill can be "
        "recognized as such.",
    ),
    ("h", "Background"),
    (
        "p",
        "Electronic pharmacy claims follow a standard of the National Council for Prescription Drug Programs, the NCPDP, in its Version D.0. A change "
        "to a standard that is in use has to go through public rulemaking. The proposal was published in January 2019; the rule adopts it as it "
        "was proposed.",
    ),
    (
        "p",
        "Since 2016 a patient or a prescriber may ask a pharmacist to hand out less than the whole prescribed amount. Version D.0 could not "
        "show this. In the data such a portion looked like a refill, which the law forbids for Schedule II drugs.",
    ),
    ("h", "What changes"),
    ("b", "Senders put the amount that the prescriber ordered into field 460-ET."),
    ("b", "Receivers compare it with the dispensed amount, and keep what they need to answer an audit."),
    ("b", "Nothing changes for drugs in other schedules."),
    (
        "p",
        "The rule itself says from when this applies. Questions about operating rules and adopted standards go to standards@sample.example.",
    ),
)

TIMELINE_ROWS: tuple[tuple[str, str, str], ...] = (
    (
        "2020 Jan 24",
        "Use of D.0 for partial fills",
        "A field that shows the ordered amount becomes compulsory for Schedule II drugs.",
    ),
    (
        "2019 Oct 28",
        "End of the health plan identifier",
        "The identifiers for health plans and other entities are given up.",
    ),
    ("2014 Aug 4", "ICD-10 put off again", "The diagnosis codes are now due on October 1, 2015."),
    (
        "2012 Sep 5",
        "Health plan identifier; ICD-10 put off",
        "Health plans need a number by November 5, 2014. The diagnosis codes move from "
        "October 1, 2013 to October 1, 2014.",
    ),
    (
        "2012 Aug 10",
        "Operating rules for payments",
        "Rules for electronic transfers and remittance advice apply from January 1, 2014.",
    ),
    (
        "2011 Jul 8",
        "Operating rules for eligibility",
        "Rules for eligibility and claim status apply from January 1, 2013.",
    ),
    ("2009 Oct 30", "Civil penalties", "Higher penalties apply from November 30, 2009."),
    ("2009 Jan 16", "Versions 5010 and D.0", "New versions of the transactions are required by January 1, 2012."),
    ("2009 Jan 16", "Diagnosis codes ICD-10", "The change from ICD-9 is planned for October 1, 2013."),
    (
        "2004 Jan 23",
        "Provider identifier",
        "Providers need a number by May 23, 2007; small health plans have until May 23, 2008.",
    ),
    ("2003 Aug 15", "Electronic Medicare claims", "Paper claims end on October 16, 2003."),
    ("2003 Feb 20", "Corrections to the transactions", "Corrected versions apply from March 24, 2003."),
    ("2002 May 31", "Employer identifier", "The employer number is mandatory from July 30, 2002."),
    (
        "2000 Aug 17",
        "First transactions and code sets",
        "Everybody has until October 16, 2002, and small health plans until October 16, 2003.",
    ),
)


def build(folder: Path) -> tuple[Path, ...]:
    """Write the three PDFs into `folder`; the bytes depend on this file and on the version of fpdf2 only."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in ((RULE, _rule), (BULLETIN, _bulletin), (TIMELINE, _timeline)):
        path = folder / name
        path.write_bytes(bytes(make().output()))
        written.append(path)
    return tuple(written)


def _document(title: str, height: float) -> FPDF:
    from fpdf import FPDF

    pdf = FPDF(unit="pt", format=(WIDTH, height))
    pdf.core_fonts_encoding = "windows-1252"
    pdf.set_compression(False)
    pdf.set_auto_page_break(False)
    pdf.set_creation_date(datetime(2026, 1, 1, tzinfo=UTC))
    pdf.set_producer("infra.sample_corpus")
    pdf.set_title(f"SAMPLE: {title}")
    pdf.set_author("The Filewright authors")
    return pdf


def _print(
    pdf: FPDF, x: float, y: float, text: str, *, style: str = "", size: float = SIZE, family: str = "times"
) -> None:
    pdf.set_font(family, style, size)
    pdf.text(x, y, text)


def _banner(pdf: FPDF) -> None:
    pdf.set_text_color(170, 0, 0)
    _print(pdf, LEFT, 24, BANNER, style="B", size=11, family="helvetica")
    pdf.set_text_color(0, 0, 0)


def _break(pdf: FPDF, text: str, width: float, *, size: float, style: str, first: float = 0.0) -> list[str]:
    """Lines of at most `width` points; a word that does not fit is broken at its last fitting `~`, hyphen or dash."""
    pdf.set_font("times", style, size)
    lines, line = [], ""
    room = width - first
    for word in text.split():
        candidate = f"{line} {word}" if line else word
        if pdf.get_string_width(candidate.replace("~", "")) <= room:
            line = candidate
            continue
        pieces = _pieces(word)
        kept = 0
        for count in range(len(pieces) - 1, 0, -1):
            head = "".join(pieces[:count])
            shown = head.replace("~", "") + ("" if head[-1] in "-–" else "-")
            if pdf.get_string_width(f"{line.replace('~', '')} {shown}".strip()) <= room:
                kept = count
                lines.append(f"{line.replace('~', '')} {shown}".strip())
                break
        if not kept:
            lines.append(line.replace("~", ""))
        line = "".join(pieces[kept:])
        room = width
    return [*lines, line.replace("~", "")]


def _pieces(word: str) -> list[str]:
    """The parts of a word between which it may be broken: after `~`, and after a hyphen or dash inside it."""
    pieces = [""]
    for position, character in enumerate(word):
        if character == "~":
            pieces.append("")
            continue
        pieces[-1] += character
        if character in "-–" and 0 < position < len(word) - 1:
            pieces.append("")
    return pieces


class _Columns:
    """Three columns on as many pages as the text needs, with what the printer adds to a page."""

    def __init__(self, pdf: FPDF) -> None:
        self.pdf, self.page, self.column, self.y = pdf, 0, 2, BOTTOM
        self.bottom = BOTTOM

    def new_page(self) -> None:
        self.pdf.add_page()
        self.page, self.column, self.y, self.bottom = self.page + 1, 0, TOP, BOTTOM
        _banner(self.pdf)
        number, head = 100 + self.page, "Sample Register / Vol. 1, No. 16 / Friday, January 24, 2020 / Rules"
        shown = f"{number} {head}" if number % 2 == 0 else f"{head} {number}"
        _print(self.pdf, LEFT, 42, shown, style="B", size=9)
        if self.page in FOOTNOTES:
            self._footnote(FOOTNOTES[self.page])

    def close_page(self) -> None:
        """The printer's imprint and the turned text in the margin come last, as in the Federal Register."""
        foot = f"VerDate 01<JAN>2026 12:00 Jkt 000001 PO 00000 Frm 0000{self.page} Fmt 4700 Sfmt 4700 SAMPLE"
        _print(self.pdf, 25, HEIGHT - 20, foot, size=6, family="helvetica")
        with self.pdf.rotation(90, 18, HEIGHT - 60):
            _print(self.pdf, 18, HEIGHT - 60, "sample on FILEWRIGHT1 with RULES", size=6, family="helvetica")

    def _footnote(self, text: str) -> None:
        lines = _break(self.pdf, text, COLUMN, size=7.5, style="", first=7)
        self.bottom = BOTTOM - 9.0 * len(lines) - 6
        for number, line in enumerate(lines):
            _print(self.pdf, LEFT + (0 if number else 7), self.bottom + 6 + 9.0 * (number + 1), line, size=7.5)

    def line(self, text: str, *, indent: float = 0.0, style: str = "", run_in: str = "") -> None:
        if self.y + LEADING > (self.bottom if self.column == 0 else BOTTOM):
            self.column, self.y = self.column + 1, TOP
        if self.column > 2:
            self.close_page()
            self.new_page()
        self.y += LEADING
        x = LEFT + self.column * (COLUMN + GUTTER) + indent
        if run_in:
            _print(self.pdf, x, self.y, run_in, style="B")
            x += self.pdf.get_string_width(run_in + " ")
            text = text[len(run_in) :].lstrip()
        _print(self.pdf, x, self.y, text, style=style)


def _rule() -> FPDF:
    pdf = _document("a rule on partial fills", HEIGHT)
    columns = _Columns(pdf)
    columns.new_page()
    for style, text in RULE_TEXT:
        if style == "h":
            columns.y += 4
            for line in _break(pdf, text, COLUMN, size=SIZE, style="B"):
                columns.line(line, style="B")
            columns.y += 2
        else:
            bullet = "• " if style == "b" else ""
            run_in = text.split(":")[0].replace("~", "") + ":" if style == "r" else ""
            # A run-in heading is bold and a little wider than the breaker assumes.
            first = INDENT + (8 if run_in else 0)
            for number, line in enumerate(_break(pdf, bullet + text, COLUMN, size=SIZE, style="", first=first)):
                columns.line(line, indent=0 if number else INDENT, run_in="" if number else run_in)
    columns.close_page()
    return pdf


def _bulletin() -> FPDF:
    pdf = _document("an information bulletin", LETTER)
    pdf.add_page()
    _banner(pdf)
    y = 70.0
    for style, text in BULLETIN_TEXT:
        y += 8
        bold, size = ("B", 13.0) if style == "h" else ("", 11.0)
        left, hang = (LEFT + 12, 10.0) if style == "b" else (LEFT, 0.0)
        for number, line in enumerate(_break(pdf, text, 500 - 2 * hang, size=size, style=bold)):
            y += 15
            if style == "b" and not number:
                _print(pdf, left, y, "•", size=size)
            _print(pdf, left + hang, y, line, style=bold, size=size)
    return pdf


def _timeline() -> FPDF:
    pdf = _document("a timeline of standards", LETTER)
    pdf.add_page()
    _banner(pdf)
    _print(pdf, 200, 70, "Sample timeline of standards", style="B", size=14)
    lefts, widths = (48.0, 124.0, 290.0), (70.0, 150.0, 265.0)
    y = 100.0
    for left, head in zip(lefts, ("Published", "Subject", "What it says, and by when"), strict=True):
        _print(pdf, left, y, head, style="B", size=11)
    for row in TIMELINE_ROWS:
        y += 8
        cells = [_break(pdf, cell, width, size=11, style="") for cell, width in zip(row, widths, strict=True)]
        for left, lines in zip(lefts, cells, strict=True):
            for number, line in enumerate(lines):
                _print(pdf, left, y + 13.5 * (number + 1), line, size=11)
        y += 13.5 * max(len(lines) for lines in cells)
    _print(pdf, 535, LETTER - 40, "1", size=9)
    return pdf


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.sample_corpus", description="Set the sample corpus in type.")
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER, help="where the PDFs go")
    for path in build(parser.parse_args(arguments).folder):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
