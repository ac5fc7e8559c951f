"""The action policy: what an action on the screen may be, decided from the action and the scene alone.

Decides Allow, Ask (a person) or Deny for one action, each with the rule's name and the class of the action. It never looks at what
the model says it is doing, never changes an action, never clamps a coordinate, and holds no state: the same action on the same
scene gets the same decision.

| asked in this order | decided in | classes |
| --- | --- | --- |
| places, amounts, held keys, control characters | amounts.py | unknown |
| keys: a block-list with phrases of its own, then an allow-list | keys_policy.py | leave, unknown |
| looking, waiting, moving the pointer, scrolling | here | read |
| presses and texts: by what is under the pointer or has the focus | targets.py | all |

A rule is a row: its name for the record, the fixed phrase that the model reads, and what it matches. The phrases never quote what was asked
for, or the page. What no rule knows is refused.
"""

from __future__ import annotations

from typing import assert_never

from tasks.domain import amounts, keys_policy, targets
from tasks.domain.actions import (
    Action,
    Allow,
    Click,
    CursorPosition,
    Decision,
    Drag,
    HoldKeys,
    Kind,
    MouseDown,
    MouseUp,
    MoveMouse,
    PressKeys,
    Scene,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
    Zoom,
)
from tasks.domain.keys_policy import MODIFIERS, canonical_combinations

LOOK = Allow("look", Kind.READ)


def decide(action: Action, scene: Scene) -> Decision:
    """The decision for one action, with the row's name, the class, and where it refuses the phrase for the model."""
    refusal = amounts.refused(action, scene)
    if refusal is not None:
        return refusal
    match action:
        case Screenshot() | Zoom() | CursorPosition() | Wait() | MoveMouse() | Scroll():
            return LOOK
        case Click(button=button, count=count, modifiers=modifiers):
            return targets.press(scene.under, scene, button=button, count=count, modifiers=_names(modifiers))
        case Drag(modifiers=modifiers):
            ends = (scene.under, scene.end)
            return targets.gravest(targets.press(end, scene, modifiers=_names(modifiers)) for end in ends)
        case MouseDown() | MouseUp():
            return targets.press(scene.under, scene)
        case PressKeys(keys=keys, repeat=repeat):
            return _keys(keys, scene, repeat)
        case HoldKeys(keys=keys):
            # A key that is held repeats.
            return _keys(keys, scene, 2)
        case TypeText(text=text):
            return targets.typed(text, scene)
        case _:
            assert_never(action)


def _names(modifiers: str) -> frozenset[str]:
    return frozenset(key for keys in canonical_combinations(modifiers) for key in keys)


def _keys(keys: str, scene: Scene, count: int) -> Decision:
    refusal = keys_policy.refused(keys)
    if refusal is not None:
        return refusal
    combinations = canonical_combinations(keys)
    # After the first of several the focus may be anywhere.
    times = count if len(combinations) == 1 else max(count, 2)
    return targets.gravest(_combination(one, scene, times) for one in combinations)


def _combination(keys: frozenset[str], scene: Scene, count: int) -> Decision:
    held = keys & set(MODIFIERS)
    match keys_policy.meaning(keys):
        case keys_policy.WRITES | keys_policy.EDITS:
            return targets.writes(scene)
        case keys_policy.PRESSES:
            return targets.returned(scene, count=count, modifiers=held)
        case keys_policy.BLANK:
            return targets.blank(scene, count=count, modifiers=held)
        case keys_policy.MOVE:
            return targets.moves(scene)
        case keys_policy.LOADS:
            return targets.unreadable(scene) or Allow("key:loads", Kind.NAVIGATE)
        case keys_policy.LEAVES_FIELD | keys_policy.LOOKS:
            return Allow("key:looks", Kind.READ)
        case _:
            return keys_policy.UNLISTED
