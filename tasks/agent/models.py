"""Which models can run a filing, and what a million of their tokens costs.

Decides two things from one table: whether a model takes the computer toolset that this agent offers, and what a
response cost. It never guesses: a model that is not in the table, one that only knows the retired computer tool, or one
without a price is refused before anything is sent, because a ceiling in dollars cannot be kept for it.

Prices were read on `PRICES_READ_ON`: Opus 5.5, Opus 5, Opus 4.8, Sonnet 5 and Fable 5.1 on the vendor's own pages; the price by
length of prompt of Haiku 5.5 and the cache reads of Sonnet 5.5 (halved on 2026-10-07) from two independent projects that follow the
vendor's page and agree. Which model takes which tool is the vendor's documentation of computer use. A new model is one row; a
changed price is a changed row and a new date.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.errors import PermanentError
from tasks.domain.steps import Usage

PRICES_READ_ON = "2026-11-30"
DEFAULT_MODEL = "claude-opus-5-5"
TOOLSET_TYPE = "computer_toolset_20260801"
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens. `write` is a cache entry that lives 5 minutes, `write_hour` one that lives an hour."""

    input: float
    output: float
    write: float
    write_hour: float
    read: float

    def cost(self, usage: Usage, *, hour_tokens: int = 0) -> float:
        """Dollars for one response. `hour_tokens` is the part of the cache creation that was written for an hour."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + (usage.cache_creation_input_tokens - hour_tokens) * self.write
            + hour_tokens * self.write_hour
            + usage.cache_read_input_tokens * self.read
        ) / MILLION


@dataclass(frozen=True, slots=True)
class Price:
    """`rates` hold for a prompt of up to `long_above` tokens (cache reads and writes count); `long_rates` for every token
    of a request with a longer one."""

    rates: Rates
    long_above: int | None = None
    long_rates: Rates | None = None

    def rates_for(self, prompt_tokens: int) -> Rates:
        if self.long_above is not None and self.long_rates is not None and prompt_tokens > self.long_above:
            return self.long_rates
        return self.rates


@dataclass(frozen=True, slots=True)
class Model:
    """One row. `toolset`: takes `computer_toolset_20260801`. `checks_prefix`: refuses a thinking block whose earlier
    messages changed, so the history may only grow. `price` is None where none was found published."""

    name: str
    toolset: bool
    checks_prefix: bool
    price: Price | None = None


OPUS_5_5 = Price(Rates(input=4.00, output=20.00, write=5.00, write_hour=8.00, read=0.20))
OPUS_5 = Price(Rates(input=5.00, output=25.00, write=6.25, write_hour=10.00, read=0.50))
SONNET_5_5 = Price(Rates(input=2.00, output=10.00, write=2.50, write_hour=4.00, read=0.10))
SONNET_5 = Price(Rates(input=2.00, output=10.00, write=2.50, write_hour=4.00, read=0.20))
HAIKU_5_5 = Price(
    Rates(input=0.10, output=0.50, write=0.125, write_hour=0.20, read=0.01),
    long_above=100_000,
    long_rates=Rates(input=0.50, output=2.50, write=0.625, write_hour=1.00, read=0.05),
)
FABLE_5_1 = Price(Rates(input=10.00, output=50.00, write=12.50, write_hour=20.00, read=0.25))

MODELS: dict[str, Model] = {
    row.name: row
    for row in (
        # Only the toolset: the older computer tool is a 400 on these.
        Model("claude-opus-5-5", toolset=True, checks_prefix=True, price=OPUS_5_5),
        Model("claude-sonnet-5-5", toolset=True, checks_prefix=True, price=SONNET_5_5),
        Model("claude-haiku-5-5", toolset=True, checks_prefix=True, price=HAIKU_5_5),
        Model("claude-fable-5-1", toolset=True, checks_prefix=True, price=FABLE_5_1),
        Model("claude-fable-5-2", toolset=True, checks_prefix=True),
        # Both tools; the toolset is the one that is used.
        Model("claude-opus-5", toolset=True, checks_prefix=False, price=OPUS_5),
        Model("claude-opus-4-8", toolset=True, checks_prefix=False, price=OPUS_5),
        Model("claude-sonnet-5", toolset=True, checks_prefix=False, price=SONNET_5),
        # Only the older `computer_20251124`, which this agent does not speak.
        Model("claude-opus-4-7", toolset=False, checks_prefix=False),
        Model("claude-opus-4-6", toolset=False, checks_prefix=False),
        Model("claude-opus-4-5", toolset=False, checks_prefix=False),
        Model("claude-sonnet-4-6", toolset=False, checks_prefix=False),
    )
}


def usable_models() -> tuple[str, ...]:
    """The names that `find_model` accepts, in the table's order."""
    return tuple(row.name for row in MODELS.values() if row.toolset and row.price is not None)


def find_model(name: str) -> Model:
    """The row for `name`. Raises PermanentError, saying which models can be used, for any other than `usable_models()`."""
    row = MODELS.get(name)
    instead = "Use one of: " + ", ".join(usable_models()) + "."
    if row is None:
        raise PermanentError(
            f"The model {name!r} is not in the table of models that were checked for this agent. {instead} "
            "To add one, add its row and its price to tasks/agent/models.py."
        )
    if not row.toolset:
        raise PermanentError(
            f"The model {name!r} takes only the older computer tool, not {TOOLSET_TYPE}, which this agent speaks. {instead}"
        )
    if row.price is None:
        raise PermanentError(
            f"The model {name!r} has no price in the table, so its ceiling in dollars could not be kept. {instead} "
            "Add its published price to tasks/agent/models.py to use it."
        )
    return row


def price_of(model: Model) -> Price:
    """The model's price. Raises PermanentError where the table has none."""
    if model.price is None:
        raise PermanentError(f"The model {model.name!r} has no price in tasks/agent/models.py.")
    return model.price


def prompt_tokens(usage: Usage) -> int:
    """All tokens of a response's prompt, cached or not."""
    return usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens


def cost(model: Model, usage: Usage, *, hour_tokens: int = 0) -> float:
    """Dollars for one response of `model`, by the table."""
    return price_of(model).rates_for(prompt_tokens(usage)).cost(usage, hour_tokens=hour_tokens)


def worst_cost(model: Model, input_tokens: int, output_tokens: int) -> float:
    """Dollars if every one of `input_tokens` were written to the cache and all of `output_tokens` were produced."""
    rates = price_of(model).rates_for(input_tokens)
    return (input_tokens * max(rates.input, rates.write) + output_tokens * rates.output) / MILLION
