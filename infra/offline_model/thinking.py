"""Thinking: which configuration a model takes, and whether a thinking block still belongs to its conversation.

The signature of a block carries what the block was created after: digests of `system`, `tools` and all content before
it, and the thinking block before it. A request that brings the block back is compared with them as it was sent, before
any context edit. Moving a `cache_control` mark, appending, or changing effort or `max_tokens` is no difference.

The signature also carries the reasoning itself, so that the server keeps no state: a restart between two requests is
no edit either. It is sealed, so a block that was altered is told from one that was replayed elsewhere. The seal keeps
no secret: nothing here is worth forging.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass

from .betas import BINDING_CONTROLS
from .canonical import Chain, canonical, digest
from .conversation import turns
from .errors import JSON, invalid
from .models import READS_THINKING_OF
from .requests import Request

SEAL = b"filewright offline model"


@dataclass(frozen=True)
class Prefix:
    """What stands before a thinking block: digests of system, tools, content, and of the thinking block before it."""

    system: str
    tools: str
    content: str
    previous: str


@dataclass(frozen=True)
class Sealed:
    """What a signature holds: the model that thought, the prefix it thought after, and the thought."""

    model: str
    prefix: Prefix
    thought: str


@dataclass(frozen=True)
class Checked:
    """The conversation as the model gets it: invalid blocks removed, each removal reported, and the reply's prefix.

    In `messages` every thinking block shows its whole thought, whatever the request displayed.
    """

    messages: list[JSON]
    transformations: list[JSON]
    prefix: Prefix


# Where a prefix may differ -> how the API says so, in the order in which it looks.
DIFFERENCES = (
    ("system", "The `system` prompt differs from the one this block was created with."),
    ("tools", "The `tools` list differs from the one this block was created with."),
    ("content", "Content before this block differs from the content this block was created with."),
    ("previous", "The `thinking` block that preceded this one when it was created is missing from this request."),
)


def check_thinking(request: Request) -> None:
    """Raise the 400 for a thinking configuration that the model does not take."""
    thinking = request.body.get("thinking")
    if thinking is None:
        return
    kind = thinking["type"]
    if kind not in request.rules.thinking_types:
        if "adaptive" in request.rules.thinking_types:
            raise invalid(
                f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.'
            )
        raise invalid(f'"thinking.type.{kind}" is not supported for this model.')
    if kind == "enabled" and thinking["budget_tokens"] >= request.body["max_tokens"]:
        raise invalid(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
        )


def seal(sealed: Sealed) -> str:
    """The signature of a new thinking block."""
    payload = json.dumps(
        [sealed.model, *vars(sealed.prefix).values(), sealed.thought], ensure_ascii=False, separators=(",", ":")
    ).encode()
    mark = hmac.new(SEAL, payload, hashlib.sha256).digest()[:16]
    return base64.b64encode(mark + payload).decode()


def unseal(signature: str, at: str) -> Sealed:
    """What a signature holds; raises the 400 for one that this server did not make."""
    try:
        raw = base64.b64decode(signature, validate=True)
        mark, payload = raw[:16], raw[16:]
        if not hmac.compare_digest(mark, hmac.new(SEAL, payload, hashlib.sha256).digest()[:16]):
            raise ValueError("the seal does not fit")
        model, system, tools, content, previous, thought = json.loads(payload)
    except (binascii.Error, ValueError):
        raise invalid("Invalid `signature` in `thinking` block", at=at) from None
    return Sealed(model, Prefix(system, tools, content, previous), thought)


def check_blocks(request: Request) -> Checked:
    """Compare every thinking block with what stands before it.

    Raises the 400 of the prefix check unless the request asks to drop such blocks. A block of a model that this one
    does not read is dropped without an error, as are the consecutive blocks after a dropped one in the same turn.
    """
    system = digest([canonical(block) for block in request.system])
    tools = digest([canonical(entry) for entry in request.tools])
    chain = Chain()
    previous = ""
    kept: dict[str, JSON] = {}
    transformations: list[JSON] = []
    for turn in turns(request.messages):
        entered = dropping = False
        for placed in turn.blocks:
            if placed.block["type"] == "thinking":
                sealed = unseal(placed.block["signature"], placed.at)
                _check_unaltered(placed.block, sealed, placed.at)
                prefix = Prefix(system, tools, chain.value, previous)
                reason = "prefix_binding_mismatch" if dropping else _mismatch(request, sealed, prefix, placed.at)
                dropping = reason == "prefix_binding_mismatch"
                if reason:
                    transformations.append({"type": "thinking_dropped", "path": placed.at, "reason": reason})
                else:
                    previous = digest(placed.block["signature"])
                    kept[placed.at] = {**placed.block, "thinking": sealed.thought}
                continue
            dropping = False
            # The turn begins for the digest with its first block: a thinking block is bound to what came before it.
            chain.add(*([] if entered else [turn.role]), canonical(placed.block))
            entered = True
    return Checked(
        messages=_without_dropped(request.messages, kept),
        transformations=transformations,
        prefix=Prefix(system, tools, chain.value, previous),
    )


def thoughts_as_text(messages: list[JSON]) -> list[JSON]:
    """Messages of `Checked` with each thought as plain text: the model remembers what it thought, shown or not."""
    shown = []
    for message in messages:
        content = []
        for block in message["content"]:
            if block["type"] != "thinking":
                content.append(block)
            elif block["thinking"]:
                content.append({"type": "text", "text": block["thinking"]})
        if content:
            shown.append({"role": message["role"], "content": content})
    return shown


def _check_unaltered(block: JSON, sealed: Sealed, at: str) -> None:
    # Depending on `display` a reply shows the thought or an empty text; anything else was put there by the client.
    if block["thinking"] not in ("", sealed.thought):
        raise invalid("`thinking` blocks cannot be modified; send them as they were in the original response", at=at)


def _mismatch(request: Request, sealed: Sealed, prefix: Prefix, at: str) -> str:
    """Why the block is to be dropped, or "" to keep it; raises where the request wants an error."""
    rules = request.rules
    if sealed.model != rules.name and sealed.model not in READS_THINKING_OF.get(rules.name, ()):
        return "model_binding_mismatch"
    if not rules.checks_prefix or sealed.prefix == prefix:
        return ""
    behavior = (request.thinking.get("block_binding") or {}).get("prefix_mismatch_behavior")
    if behavior == "drop_block":
        return "prefix_binding_mismatch"
    difference = next(text for name, text in DIFFERENCES if getattr(sealed.prefix, name) != getattr(prefix, name))
    needs_header = (
        ""
        if BINDING_CONTROLS in request.betas
        else f" That setting requires the `{BINDING_CONTROLS}` value in the `anthropic-beta` header."
    )
    raise invalid(
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or "
        f'set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".{needs_header} {difference}',
        at=at,
    )


def _without_dropped(messages: list[JSON], kept: dict[str, JSON]) -> list[JSON]:
    """The messages with every thinking block replaced by what was kept of it; a message left empty goes too."""
    result = []
    for i, message in enumerate(messages):
        content = []
        for j, block in enumerate(message["content"]):
            if block["type"] != "thinking":
                content.append(block)
            elif f"messages.{i}.content.{j}" in kept:
                content.append(kept[f"messages.{i}.content.{j}"])
        if content:
            result.append({"role": message["role"], "content": content})
    return result
