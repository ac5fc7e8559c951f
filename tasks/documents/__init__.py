"""Files become pages of text: which files belong to a corpus, where they are, and what they say."""

from tasks.documents.catalogue import Catalogue, Refused, catalogue
from tasks.documents.locate import locate
from tasks.documents.manifest import Entry, Manifest, load_manifest
from tasks.documents.read import ReadResult, Status, read_pages

__all__ = [
    "Catalogue",
    "Entry",
    "Manifest",
    "ReadResult",
    "Refused",
    "Status",
    "catalogue",
    "load_manifest",
    "locate",
    "read_pages",
]
