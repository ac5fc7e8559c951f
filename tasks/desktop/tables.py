"""Tables on a page as rows, for code that reads a portal's list without a model."""

from __future__ import annotations

from tasks.desktop.tree import Tree, squeezed


def rows(tree: Tree) -> tuple[dict[str, str], ...]:
    """Every row below a header row, as {header: text of its cell}; rows with another number of cells than headers are left out.

    A header row is one whose cells are all <th>. Text is the page's and untrusted.
    """
    found: list[dict[str, str]] = []
    headers: list[str] = []
    for index, node in enumerate(tree.nodes):
        if node.tag != "tr":
            continue
        cells = [i for i, other in enumerate(tree.nodes) if other.parent == index and other.tag in ("th", "td")]
        texts = [squeezed(tree.text_of(cell)) for cell in cells]
        if cells and all(tree.nodes[cell].tag == "th" for cell in cells):
            headers = texts
        elif len(cells) == len(headers) > 0:
            found.append(dict(zip(headers, texts, strict=True)))
    return tuple(found)
