"""One run of the agent against a scripted model, with every part of it in reach."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import anthropic
import pytest

from tasks.agent.budgets import Budgets
from tasks.agent.client import make_client
from tasks.agent.conversation import AgentOptions, AgentResult, run_agent
from tasks.agent.record import Record
from tasks.domain.passages import Chunk, Passage, SearchResult
from tasks.domain.steps import Turn
from tests.agent.scripted_model import Reply, ScriptedModel, serving
from tests.agent.toy_desktop import MemoryJournal, ToyDesktop

KEY = "sk-ant-a-key-that-must-not-be-shown"
TASK = "File the report QI-2025-014 for Q3 2025, Pharmacy."


def passage(number: int = 1) -> Passage:
    words = f"Passage number {number} of the sample rule."
    chunk = Chunk(f"chunk-{number}", "rule.pdf", number, 0, len(words), words)
    return Passage(chunk, "Sample rule", 1.0 / number, number)


@dataclass
class Bench:
    """`run` runs the agent over a script; the fields can be changed before, and read after."""

    stack: ExitStack
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    turns: list[Turn] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    passages: Callable[[str], Sequence[Passage] | SearchResult] = lambda query: [passage(1), passage(2)]
    finished: Callable[[], bool] = lambda: True
    check: Callable[[], None] = lambda: None
    clock: Callable[[], float] = field(default_factory=lambda: itertools.count().__next__)
    budgets: Budgets = field(default_factory=lambda: Budgets(seconds=100_000, dollars=100))
    options: AgentOptions = field(default_factory=lambda: AgentOptions(on_prefix_mismatch="error"))
    model_name: str = "claude-opus-5-5"
    max_retries: int = 2
    screenshot: bytes | None = None
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel([]))
    desktop: ToyDesktop | None = None

    def run(self, *script: Reply, desktop: ToyDesktop | None = None) -> AgentResult:
        """Run against a model with this script."""
        self.model = ScriptedModel(script)
        self.desktop = desktop or self.desktop
        url = self.stack.enter_context(serving(self.model))
        client = self.stack.enter_context(make_client(base_url=url, api_key=KEY, max_retries=self.max_retries))
        return self.run_with(client)

    def run_with(self, client: anthropic.Anthropic) -> AgentResult:
        """Run against whatever this client talks to."""
        self.desktop = self.desktop or ToyDesktop(Record(self.journal))

        def search(query: str) -> SearchResult:
            self.searched.append(query)
            found = self.passages(query)
            return found if isinstance(found, SearchResult) else SearchResult(tuple(found), len(found))

        return run_agent(
            client=client,
            model=self.model_name,
            toolset=self.desktop,
            search=search,
            task=TASK,
            budgets=self.budgets,
            journal=self.journal,
            check=lambda: self.check(),
            on_turn=self.turns.append,
            finished=lambda: self.finished(),
            screenshot=self.screenshot,
            options=self.options,
            clock=self.clock,
        )

    @property
    def sent(self) -> str:
        """Everything that the model's service received, as one text."""
        return json.dumps([self.model.bodies, self.model.headers], ensure_ascii=False)

    def results(self, request: int = -1) -> list[Any]:
        """The tool results in the last message of one request."""
        content = self.model.bodies[request]["messages"][-1]["content"]
        return [block for block in content if block["type"] == "tool_result"]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack)
