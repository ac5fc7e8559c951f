"""What each model accepts: one row a model, read by every check that depends on the model.

Which computer tool a model takes, whether it always thinks and whether it checks the prefix are the API's rules as the
vendor documents them (November 2026). Output limits, context windows and the smallest prefix that is cached are the
documented ones where they matter to a client and round numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import ApiError

COMPUTER_TOOLSET = "computer_toolset_20260801"
BROWSER_TOOLSET = "browser_toolset_20260801"
COMPUTER_TOOL = "computer_20251124"

EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class ModelRules:
    """The rules of one model; `thinking_types` are the accepted values of `thinking.type`."""

    name: str
    tool_types: tuple[str, ...]
    thinking_types: tuple[str, ...]
    thinks_by_default: bool
    checks_prefix: bool
    accepts_sampling: bool
    resizes_images: bool
    max_output_tokens: int
    context_window: int
    min_cache_tokens: int

    @property
    def always_thinks(self) -> bool:
        """Whether thinking cannot be turned off, which also rules out a forced tool choice."""
        return self.thinking_types == ("adaptive",)


def _current(name: str) -> ModelRules:
    """Opus, Sonnet and Haiku 5.5, Fable 5.1 and 5.2: the toolsets only, always thinking, prefix checked."""
    return ModelRules(
        name=name,
        tool_types=(COMPUTER_TOOLSET, BROWSER_TOOLSET),
        thinking_types=("adaptive",),
        thinks_by_default=True,
        checks_prefix=True,
        accepts_sampling=False,
        resizes_images=False,
        max_output_tokens=128_000,
        context_window=1_000_000,
        min_cache_tokens=1024,
    )


def _both(name: str) -> ModelRules:
    """Opus 5, Sonnet 5 and Opus 4.8: both kinds of computer tool, thinking may be turned off."""
    return ModelRules(
        name=name,
        tool_types=(COMPUTER_TOOLSET, BROWSER_TOOLSET, COMPUTER_TOOL),
        thinking_types=("adaptive", "disabled"),
        thinks_by_default=True,
        checks_prefix=False,
        accepts_sampling=False,
        resizes_images=False,
        max_output_tokens=128_000,
        context_window=1_000_000,
        min_cache_tokens=1024,
    )


def _older(name: str, *thinking_types: str, sampling: bool) -> ModelRules:
    """The models before them: only the single computer tool behind its beta header; they resize large images."""
    return ModelRules(
        name=name,
        tool_types=(COMPUTER_TOOL,),
        thinking_types=thinking_types,
        thinks_by_default=False,
        checks_prefix=False,
        accepts_sampling=sampling,
        resizes_images=True,
        max_output_tokens=64_000,
        context_window=200_000,
        min_cache_tokens=1024,
    )


MODELS: Mapping[str, ModelRules] = {
    rules.name: rules
    for rules in (
        *map(
            _current,
            ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2"),
        ),
        *map(_both, ("claude-opus-5", "claude-sonnet-5", "claude-opus-4-8")),
        _older("claude-opus-4-7", "adaptive", "disabled", sampling=False),
        _older("claude-opus-4-6", "adaptive", "enabled", "disabled", sampling=True),
        _older("claude-sonnet-4-6", "adaptive", "enabled", "disabled", sampling=True),
        _older("claude-opus-4-5", "enabled", "disabled", sampling=True),
    )
}

# Besides its own blocks a model reads those of a fixed set of others; blocks of any other model are dropped.
READS_THINKING_OF: Mapping[str, frozenset[str]] = {
    "claude-fable-5-1": frozenset({"claude-opus-5", "claude-opus-5-5"}),
    "claude-fable-5-2": frozenset({"claude-opus-5", "claude-opus-5-5"}),
}


def rules_of(model: str) -> ModelRules:
    """The rules of `model`; raises the 404 that the API answers an unknown name with."""
    try:
        return MODELS[model]
    except KeyError:
        raise ApiError(404, f"model: {model}") from None
