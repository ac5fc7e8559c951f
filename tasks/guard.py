"""What a run's actions must pass besides the action policy: sources for what is typed, an answer where the policy asks, the intent.

Here the pure rules meet a run: the passages that its searches returned, the fields that its model wrote into, who may say yes. It
never widens what the policy decided: a yes becomes a no here, a question is answered or stays one.

Rules
- A text that goes into a field is judged as a part of it; a part may still become something that has a source.
- Before the page goes on (class change), every field of it that the model wrote into is judged as a whole; before a commit every such
  field of the run, also of pages that were left, by the last content that was seen.
- A field counts as written into once a key, a text, a drop or a paste of the model went there, and it holds something else than
  when it was first seen. What the portal filled in by itself is the portal's, and what is chosen from a list is.
- A question is answered "auto" only where the setting says so and only for the control that the form's brief names; else it
  stays a question, which the driver refuses.
- The intent is on record before anything that may commit is done.

State lives as long as the run. Cost: each decision reads the fields of the page; each judged field costs what grounding.py says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tasks.domain.actions import (
    Action,
    Allow,
    Ask,
    Click,
    Decision,
    Deny,
    Drag,
    HoldKeys,
    Kind,
    MouseUp,
    PressKeys,
    Scene,
    TypeText,
)
from tasks.domain.briefs import Brief, may_commit
from tasks.domain.control_words import folded
from tasks.domain.fields import Key, focused_field, in_date, page_of, text_fields
from tasks.domain.grounding import Source, advice, unsourced
from tasks.domain.passages import SearchResult
from tasks.domain.policy import decide

AUTO = "auto"
UNSOURCED = "grounding"


@dataclass
class Evidence:
    """What this run may state: `facts` of its task, and the passages that its searches returned."""

    facts: Sequence[str]
    passages: list[Source] = field(default_factory=list)

    def searching(self, search: Callable[[str], SearchResult]) -> Callable[[str], SearchResult]:
        """The same search, whose passages become sources."""

        def noted(query: str) -> SearchResult:
            found = search(query)
            for passage in found.passages:
                here = Source(passage.chunk.document, passage.chunk.page, passage.text)
                # The same words stand at these places too; what is shown around them only at the first.
                elsewhere = [Source(document, page, passage.chunk.text) for document, page in passage.also_at]
                self.passages += [source for source in (here, *elsewhere) if source not in self.passages]
            return found

        return noted

    def missing(self, text: str, *, fragment: bool = False) -> tuple[str, ...]:
        """The claims of a text that stand nowhere, as written."""
        return unsourced(text, passages=self.passages, facts=self.facts, fragment=fragment)


def task_facts(task: str, *, report_id: str, quarter: str, department: str) -> tuple[str, ...]:
    """The facts of a filing's task: its three values, the parts of the quarter, and the words of the task."""
    return (report_id, quarter, *quarter.split(), department, task)


@dataclass
class _Written:
    """A field of the run: what it held when it was first seen, what it held last, whether the model wrote into it."""

    first: str
    last: str
    touched: bool = False

    @property
    def changed(self) -> bool:
        return self.touched and self.last != self.first


@dataclass
class Guard:
    """Decides for one run, as the driver's `decide`. `intend` records the intent, and is called once.

    `approval` is "auto" or "none". `decide` raises what `intend` raises.
    """

    brief: Brief
    approval: str
    evidence: Evidence
    intend: Callable[[], object]
    intended: bool = False
    fields: dict[Key, _Written] = field(default_factory=dict)
    _dropped: bool = False

    def decide(self, action: Action, scene: Scene) -> Decision:
        """The decision for one action on the scene before it."""
        scene = self._with_brief(scene)
        self._observe(scene)
        decision = decide(action, scene)
        if isinstance(decision, Deny):
            return decision
        missing = self._unsourced(action, scene, decision)
        if missing:
            return Deny(UNSOURCED, advice(missing), decision.kind)
        if isinstance(decision, Ask):
            decision = self._answered(decision)
        if isinstance(decision, Allow):
            self._going_to(action, scene)
            if not self.intended and (decision.kind == Kind.COMMIT or may_commit(action, scene, self.brief.submit)):
                self.intend()
                self.intended = True
        return decision

    def _with_brief(self, scene: Scene) -> Scene:
        commits, changes = (*scene.commits, self.brief.submit), (*scene.changes, *self.brief.changes)
        return replace(scene, commits=commits, changes=changes)

    def _answered(self, ask: Ask) -> Decision:
        named = folded(ask.control) == folded(self.brief.submit)
        return Allow(ask.rule, ask.kind, AUTO) if self.approval == AUTO and named else ask

    # ---- what the model wrote

    def _observe(self, scene: Scene) -> None:
        """Take note of what the fields hold, before the next action changes them."""
        for one in text_fields(scene):
            known = self.fields.setdefault(one.key, _Written(one.value, one.value))
            known.touched |= self._dropped and one.value != known.last
            known.last = one.value
        self._dropped = False

    def _going_to(self, action: Action, scene: Scene) -> None:
        """Mark the fields that an allowed action writes into."""
        if isinstance(action, TypeText | PressKeys | HoldKeys):
            key = focused_field(scene)
            if key is not None:
                self.fields[key].touched = True
        # What is dropped or pasted with the mouse lands where the page puts it: seen at the next look.
        self._dropped = isinstance(action, Drag | MouseUp) or (isinstance(action, Click) and action.button == "middle")

    def _unsourced(self, action: Action, scene: Scene, decision: Allow | Ask) -> tuple[str, ...]:
        """The claims without a source that stand in the way of an action."""
        found: list[str] = []
        if isinstance(action, TypeText) and focused_field(scene) is not None and not in_date(scene):
            found += self.evidence.missing(action.text, fragment=True)
        if decision.kind in (Kind.CHANGE, Kind.COMMIT):
            for key, written in self.fields.items():
                if written.changed and (decision.kind == Kind.COMMIT or key.page == page_of(scene)):
                    found += self.evidence.missing(written.last)
        return tuple(dict.fromkeys(found))
