"""The diagrams of state machines in the documentation."""

import enum
from typing import Any

import pytest

from tests.docs.blocks import ROOT
from tests.docs.hooks import hook_named

HOOK = hook_named("diagrams")
DIAGRAMS: dict[str, Any] = HOOK.DIAGRAMS


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_change_of_state_is_drawn(name: str) -> None:
    diagram = DIAGRAMS[name]
    lines = list(diagram.lines())
    for (before, event), after in diagram.table.items():
        if before is not after:
            start, end = diagram.ends(before, event)
            [words] = [line.partition(": ")[2] for line in lines if line.startswith(f"{start} --> {end}: ")]
            assert str(event.value) in words.split(", ")
            assert start in (before.name, "FRAME" if before in diagram.frame else before.name)
            assert end in (after.name, "FRAME" if after in diagram.frame else after.name)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_each_state_stands_once_and_inside_the_frame_if_it_belongs_there(name: str) -> None:
    diagram = DIAGRAMS[name]
    lines = list(diagram.lines())
    end = lines.index("}") if diagram.frame else 0
    states: set[enum.Enum] = {state for (before, _), after in diagram.table.items() for state in (before, after)}
    for state in states:
        [place] = [number for number, line in enumerate(lines) if line == f'state "{state.value}" as {state.name}']
        assert (place < end) is (state in diagram.frame)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_frame_has_only_states_of_the_diagram(name: str) -> None:
    # One that has others draws what leads out of all its states at each state: some of them lead nowhere.
    diagram = DIAGRAMS[name]
    assert diagram.frame <= {state for state, _ in diagram.table}


def test_diagrams_are_on_pages() -> None:
    text = "\n".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    assert all(f"<!-- diagram: {name} -->" in text for name in DIAGRAMS)
    drawn = HOOK.on_page_markdown("<!-- diagram: streams-group -->")
    assert drawn.startswith('<pre class="mermaid"><code>stateDiagram-v2')
    assert "--&gt;" in drawn
