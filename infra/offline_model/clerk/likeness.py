"""How alike two texts are once the usual mistakes of optical character recognition are taken away.

Decides: whether a text read from a picture says what was expected. Never decides what to type: a value that is filed is copied
from the task or from a passage, not from a reading of the screen.

Rules: letters and digits that recognition swaps (O and 0, l and 1, S and 5, …) count as the same; blanks, case and punctuation
count for nothing, because thin marks get lost first.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher

_SWAPPED = str.maketrans({"o": "0", "q": "0", "i": "1", "l": "1", "|": "1", "!": "1", "s": "5", "b": "8", "z": "2"})
_KEPT = re.compile(r"[^a-z0-9|!]")


def canonical(text: str) -> str:
    """The text as lower-case letters and digits, with characters that recognition confuses made one."""
    plain = unicodedata.normalize("NFKD", text).lower()
    return _KEPT.sub("", plain).translate(_SWAPPED)


def similarity(left: str, right: str) -> float:
    """0 to 1: the share of the two texts that agrees, in order."""
    return _ratio(canonical(left), canonical(right))


def containment(part: str, whole: str) -> float:
    """0 to 1: how well `part` is found as one stretch of `whole`; an empty part is found everywhere."""
    needle, hay = canonical(part), canonical(whole)
    if not needle or needle in hay:
        return 1.0
    if len(hay) <= len(needle):
        return _ratio(needle, hay)
    best = 0.0
    # Windows begin where the longest common stretches would put the needle: trying every offset costs too much on a full page.
    blocks = SequenceMatcher(None, hay, needle, autojunk=False).get_matching_blocks()
    starts = {max(0, block.a - block.b) for block in blocks if block.size >= 3}
    for start in starts:
        best = max(best, _ratio(needle, hay[start : start + len(needle)]))
    return best


def says(value: str, text: str) -> bool:
    """Whether `text` holds the value, a misread letter aside: words with digits must be there as they are.

    A value with its source in brackets counts as two, or else a long source would make up for another date.
    """
    hay = canonical(text)
    tokens = text.split()
    for part in re.split(r"[()]", value):
        if not part.strip() or canonical(part) in hay:
            continue
        wanted = part.split()
        windows = (tokens[start : start + len(wanted)] for start in range(len(tokens) - len(wanted) + 1))
        if not any(all(map(_same_word, wanted, window)) for window in windows):
            return False
    return True


def _same_word(wanted: str, read: str) -> bool:
    if re.search(r"\d", wanted):
        return canonical(wanted) == canonical(read)
    return similarity(wanted, read) >= 0.7


def words(text: str) -> list[str]:
    """Lower-case words of letters and digits; hyphens inside a word stay."""
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2013", "-").replace("\u2011", "-")
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", plain)


def _ratio(left: str, right: str) -> float:
    if not left and not right:
        return 1.0
    return SequenceMatcher(None, left, right, autojunk=False).ratio()
