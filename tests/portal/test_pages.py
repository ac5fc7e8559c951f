"""What a person meets: labels, headings, no script, contrast, and pages that fit a small screen in a real Firefox."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from portal.pages import FOLDER

from .conftest import ANSWERS, PERIOD, Browser, Page, Site, serving

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
LONG = {
    "ncpdp_field": "460-ET Quantity Prescribed (cms-0055-f-ncpdp-d0-final-rule-2020.pdf, page 1)",
    "effective_date": "March 24, 2020 (cms-0055-f-ncpdp-d0-final-rule-2020.pdf, page 1)",
    "compliance_date": "September 21, 2020 (cms-0055-f-ncpdp-d0-final-rule-2020.pdf, page 1)",
    "citation": "cms-0055-f-ncpdp-d0-final-rule-2020.pdf, page 1",
}


@pytest.fixture
def pages(browser: Browser) -> list[Page]:
    """One page of every kind, with and without errors."""
    empty = browser.get("/reports")
    step_1 = browser.get("/reports/new")
    wrong_1 = browser.send(step_1, {**PERIOD, "year": "2027", "department": ""})
    step_2 = browser.send(step_1, PERIOD)
    wrong_2 = browser.send(step_2, {"citation": "\u200b"})
    step_3 = browser.send(step_2, ANSWERS)
    changed = browser.send(step_3, {"year": "2024"})
    late = browser.review()
    receipt = browser.send(step_3)
    return [
        *(empty, step_1, wrong_1, step_2, wrong_2, step_3, changed, receipt, browser.send(late)),
        *(browser.get("/reports"), browser.get("/reports?report_id=x"), browser.get("/nowhere")),
        browser.send(step_2, ANSWERS),
    ]


def test_every_page_is_labelled_and_needs_no_script(pages: list[Page]) -> None:
    """One heading, a title, a language; every field has a visible label; references lead somewhere; no script, no
    inline style (the content security policy would drop it)."""
    assert {page.status for page in pages} == {200, 404, 409, 422}
    for page in pages:
        soup = page.soup
        assert soup.html is not None and soup.html["lang"] == "en"
        assert soup.title is not None and soup.title.get_text().endswith("Quality Reporting Portal")
        assert len(soup.select("h1")) == 1 and len(soup.select("main")) == 1
        ids = [element["id"] for element in soup.select("[id]")]
        assert len(ids) == len(set(ids))
        assert not soup.select("script, style, iframe, [style]")
        for element in soup.find_all(True):
            assert not [name for name in element.attrs if name.startswith("on")]
            for reference in ("aria-describedby", "aria-labelledby"):
                assert set(str(element.get(reference, "")).split()) <= set(ids)
        for field in soup.select("input:not([type=hidden]), select, textarea"):
            (label,) = soup.select(f"label[for={field['id']}]")
            assert label.get_text(strip=True)
        for element in soup.select("a, button"):
            assert element.get_text(strip=True)
        for link in soup.select("a[href^='#']"):
            assert link["href"][1:] in ids
        for form in soup.select("form[method=post]"):
            assert form.select_one("input[name=csrf]")
            assert form.has_attr("novalidate"), "errors belong on the page, not into a browser's bubble"


def test_the_current_step_is_marked(pages: list[Page]) -> None:
    """In the list of steps, for the eye and for a screen reader."""
    for page in pages:
        if page.heading in {"Period and unit", "Attestations", "Review and submit"}:
            (current,) = page.soup.select("[aria-current=step]")
            assert page.heading in current.get_text()


def test_text_that_looks_like_markup_stays_text(site: Site) -> None:
    """In every place where typed text comes back."""
    browser = site.browser()
    attack = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
    refused = [
        browser.send(browser.get("/reports/new"), {"year": attack, "report_id": attack, "quarter": attack}),
        browser.get("/reports?report_id=" + attack.replace("&", "%26")),
        browser.send(browser.attestations(), {**ANSWERS, "citation": attack, "effective_date": ""}),
    ]
    review = browser.review(citation=attack)
    for page in [*refused, review, browser.send(review)]:
        assert not page.soup.select("script, img, [onerror]")
        assert "<script" not in page.response.text


def test_colours_have_enough_contrast() -> None:
    """4.5 to 1 for text (WCAG 1.4.3), 3 to 1 for what marks a field or the focus (1.4.11), by the pairs that are used."""
    css = (FOLDER / "static/portal.css").read_text("utf-8")
    used = set(re.findall(r"#[0-9a-f]{3,6}\b", css))
    text = [
        ("#14181d", "#fff"), ("#0b4a8f", "#fff"), ("#062e5c", "#fff"), ("#4a5563", "#fff"), ("#a50f1f", "#fff"),
        ("#fff", "#14365d"), ("#fff", "#136b43"), ("#fff", "#0b4a2d"), ("#14365d", "#fff"), ("#14365d", "#e8eef5"),
        ("#14181d", "#fff8e5"), ("#14181d", "#eef7f2"), ("#14181d", "#eef2f7"), ("#14181d", "#ffd84d"),
    ]  # fmt: skip
    marks = [
        ("#14181d", "#ffd84d"),
        ("#14181d", "#fff"),
        ("#a50f1f", "#fff"),
        ("#8a5a00", "#fff8e5"),
        ("#4f8fd0", "#fff"),
    ]
    for pairs, least in ((text, 4.5), (marks, 3)):
        for ink, paper in pairs:
            assert {ink, paper} <= used
            assert contrast(ink, paper) >= least, (ink, paper, contrast(ink, paper))
    decoration = {"#c3cad3", "#8b96a3", "#0f5b38"}  # hairlines and a button's edge: nothing is said by them alone
    assert used - {colour for pair in text + marks for colour in pair} == decoration


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_no_text_is_smaller_than_14_pixels_and_forms_use_16() -> None:
    """Readable on a screen of 1024x768, by people and by OCR."""
    css = (FOLDER / "static/portal.css").read_text("utf-8")
    sizes = [float(size) * 16 for size in re.findall(r"font-size: ([0-9.]+)rem", css)]
    assert sizes and min(sizes) >= 14
    assert "html { font-size: 16px; }" in css
    assert re.search(r"input\[type=text\], select \{[^}]*font: inherit", css)


def test_the_font_is_a_setting(database: object) -> None:
    """It comes before the usual families."""
    with serving(database.portal_url, font='"DejaVu Serif"') as site:  # type: ignore[attr-defined]
        assert '--font: "DejaVu Serif", "DejaVu Sans"' in site.browser().get("/static/portal.css").response.text


@pytest.fixture
def firefox_height(tmp_path: Path) -> Iterator[object]:
    """A function that gives the height in pixels which a whole page needs at a width of 1024."""

    def height(page: Page, style_sheet: str) -> int:
        # The page as a file with its style inside: a screenshot's Firefox has no session of its own to load it with.
        html = page.response.text.replace(
            '<link rel="stylesheet" href="/static/portal.css">', f"<style>{style_sheet}</style>"
        )
        assert style_sheet in html
        (tmp_path / "page.html").write_text(html, "utf-8")
        profile = tmp_path / "profile"
        profile.mkdir(exist_ok=True)
        assert FIREFOX is not None
        subprocess.run(
            [
                *(FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--window-size=1024"),
                *("--screenshot", str(tmp_path / "page.png"), (tmp_path / "page.html").as_uri()),
            ],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MOZ_HEADLESS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
        )
        image = Image.open(io.BytesIO((tmp_path / "page.png").read_bytes()))
        assert image.width == 1024
        return image.height

    yield height


@pytest.mark.skipif(FIREFOX is None, reason="needs Firefox to lay out a page")
def test_the_steps_and_the_receipt_fit_on_a_screen_of_1024_by_768(browser: Browser, firefox_height: object) -> None:
    """Nobody has to scroll to find a button: with the real length of answers, laid out by Firefox."""
    css = browser.get("/static/portal.css").response.text
    step_2 = browser.attestations()
    step_3 = browser.send(step_2, LONG)
    heights = {
        page.heading: firefox_height(page, css)  # type: ignore[operator]
        for page in (step_2, step_3, browser.send(step_3))
    }
    assert all(height <= 768 for height in heights.values()), heights
