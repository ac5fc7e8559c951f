"""Words that a reader left out of a file are named, and no others."""

from __future__ import annotations

from tasks.documents.leftover import left_out, texts_of_page


def test_words_that_are_not_in_the_text_are_named() -> None:
    assert (
        left_out(["Rule A applies", "to all"], ["rule a applies"])
        == "words of the file that its reader left out: to, all"
    )
    assert left_out(["a b c d e f g"], [""]).endswith("a, b, c, d, e and 2 more")


def test_blanks_case_dashes_ligatures_and_joined_words_are_no_loss() -> None:
    assert left_out(["adminis", "tra\u00adtive of\ufb01ce 460–ET 10²"], ["ADMINISTRATIVE Office 460-ET 102"]) == ""


def test_menus_fields_and_scripts_are_no_text_of_a_page() -> None:
    page = "<head><title>t</title></head><body>a<nav>m</nav><select><option>o</select><script>s</script><div>b<!-- c --></div>"
    assert list(texts_of_page(page)) == ["a", "b"]
    assert list(texts_of_page("<div>" * 5_000 + "deep")) == ["deep"]
