"""How many tokens a part of a request counts for.

The vendor's tokenizer is not public: text is counted as one token for four bytes, which is near for English. Images are
exact (`images.py`). The toolset's entry counts for what the vendor says it costs. The sums are deterministic, so a test
of a budget or of the cache gives the same figures each time.
"""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from .errors import JSON
from .images import billed_tokens
from .models import BROWSER_TOOLSET, COMPUTER_TOOL, COMPUTER_TOOLSET, ModelRules
from .tools import entry_type

BYTES_PER_TOKEN = 4
# Role and delimiters of one block.
BLOCK_TOKENS = 4
# What the API adds once to a request that declares tools.
TOOL_PROMPT_TOKENS = 340
ENTRY_TOKENS = {COMPUTER_TOOLSET: 4500, BROWSER_TOOLSET: 6000, COMPUTER_TOOL: 1500}


def text_tokens(text: str) -> int:
    """Tokens of a text: its UTF-8 bytes divided by four, rounded up."""
    return ceil(len(text.encode()) / BYTES_PER_TOKEN)


def json_tokens(value: Any) -> int:
    """Tokens of a JSON value, written compactly."""
    return text_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def tool_tokens(entry: JSON) -> int:
    """Input tokens of one `tools` entry."""
    fixed = ENTRY_TOKENS.get(entry_type(entry))
    if fixed is not None:
        return fixed
    return json_tokens({name: value for name, value in entry.items() if name != "cache_control"})


def block_tokens(block: JSON, rules: ModelRules) -> int:
    """Input tokens of one content block, nested content included."""
    match block["type"]:
        case "text":
            return BLOCK_TOKENS + text_tokens(block["text"])
        case "image":
            return BLOCK_TOKENS + billed_tokens(block, rules)
        case "thinking":
            # The signature carries the reasoning; what is displayed may be empty.
            return BLOCK_TOKENS + text_tokens(block["thinking"])
        case "tool_use":
            return BLOCK_TOKENS + text_tokens(block["name"]) + json_tokens(block["input"])
        case "search_result":
            inner = sum(block_tokens(item, rules) for item in block["content"])
            return BLOCK_TOKENS + text_tokens(block["source"]) + text_tokens(block["title"]) + inner
        case _:
            content = block.get("content") or ""
            if isinstance(content, str):
                return BLOCK_TOKENS + text_tokens(content)
            return BLOCK_TOKENS + sum(block_tokens(item, rules) for item in content)
