"""What a portal's page says of a report, read by code at the places that the form's brief names.

It decides from one reading of the page, without a model and without doing anything. A page that says neither that the report is there
nor that it is missing proves nothing.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from tasks.desktop.tables import rows
from tasks.desktop.tree import Tree
from tasks.domain.briefs import Brief
from tasks.domain.errors import TemporaryError
from tasks.domain.origins import own


def receipt_reference(tree: Tree, brief: Brief, report_id: str, *, portal: str) -> str | None:
    """The reference on the receipt page of this very report; None on any other page, also on one of another site than `portal`."""
    if not own(tree.url, [portal]) or not urlsplit(tree.url).path.startswith(brief.receipt_path):
        return None
    if tree.definition(brief.receipt_labels["report_id"]) != report_id:
        return None
    return tree.definition(brief.receipt_labels["reference"]) or None


def listed_reference(tree: Tree, brief: Brief, report_id: str, *, portal: str) -> str | None:
    """The report's reference on the portal's list; None where the list says that the report is not there.

    Raises TemporaryError where the page shows neither, or several, or is none of `portal`.
    """
    if not own(tree.url, [portal]):
        raise TemporaryError(
            f"The portal's list led to another site, so nothing was done. Open {portal} and look where it leads."
        )
    identity, reference = brief.list_columns["report_id"], brief.list_columns["reference"]
    references = {row[reference] for row in rows(tree) if row.get(identity) == report_id and row.get(reference)}
    if len(references) == 1:
        return references.pop()
    if not references and any(brief.absent.format(report_id=report_id) in line for line in tree.text):
        return None
    raise TemporaryError(
        f"The portal's list shows neither report {report_id} nor that it is missing, so nothing was done. "
        "The portal may be down or may have changed: open its list and look."
    )
