"""The two conditions under which unstructured is imported here: silent, and without a model to download.

Import unstructured only through `prepare()`. It calls no address: unstructured sends a message when it is imported and one for each
document unless the process asks it not to, so the request is written to the environment before the first import (the one place in
this package that touches the environment, and it only writes the vendor's own opt-outs).

Its partitioners load spaCy's `en_core_web_sm` and try to download it when it is missing, which fails without a network or hangs. They
only need sentence ends and words to label elements, so a blank English pipeline with a sentencizer stands in. Without part-of-speech
tags some labels shift (a short sentence may be labelled as a title); the text is the same.
"""

from __future__ import annotations

import os
from functools import cache

OPT_OUTS = {"DO_NOT_TRACK": "1", "SCARF_NO_ANALYTICS": "1", "UNSTRUCTURED_DISABLE_NOTICE": "1"}


def prepare() -> None:
    """Make `import unstructured` safe; cheap, and may be called any number of times."""
    os.environ.update(OPT_OUTS)


@cache
def use_blank_english() -> None:
    """Put the blank pipeline where unstructured looks for its model. Needed before a partitioner runs, not for cleaners."""
    prepare()
    import spacy
    from unstructured.nlp import tokenize

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    tokenize._load_spacy_model = lambda: pipeline
    tokenize._get_nlp.cache_clear()
