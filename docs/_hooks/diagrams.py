"""Draws state machines from their transition tables, and gives pages with diagrams the script that draws them.

A page contains lines of the form `<!-- diagram: NAME -->`. The build replaces each of them with a Mermaid diagram: text
that the theme draws in the reader's browser, with Mermaid. The theme would load that from the internet. It does not if
the page has loaded it.
"""

import enum
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from attrs import frozen

from kafka_groups.broker.coordinators.groups.classic.states import CLASSIC_GROUP_TRANSITIONS, ClassicGroupState
from kafka_groups.broker.coordinators.groups.consumer.states import CONSUMER_GROUP_TRANSITIONS, ConsumerGroupState
from kafka_groups.broker.coordinators.groups.streams.states import STREAMS_GROUP_TRANSITIONS, StreamsGroupState
from kafka_groups.broker.coordinators.transactions.states import TRANSACTION_TRANSITIONS
from kafka_groups.records.transactions.transaction import WRITER_TRANSITIONS, WriterState
from kafka_groups.streams.member.classic.transitions import TRANSITIONS as CLASSIC_MEMBER_TRANSITIONS
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS as STREAMS_MEMBER_TRANSITIONS
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState

__all__ = ["DIAGRAMS", "on_page_markdown", "on_post_page"]

_MERMAID = "javascripts/mermaid.tiny.js"
_DIAGRAM = '<pre class="mermaid"'

_MARK = re.compile(r"^<!-- diagram: (?P<name>[a-z-]+) -->$", re.MULTILINE)


@frozen
class Diagram:
    """A state machine to draw.

    Attributes:
        table: (state, event) → state.
        frame: States that are drawn inside a frame. What leads out of all of them is drawn once, at the frame. So is
            what leads from outside to the same state of the frame as from inside.
        frame_name: The words on the frame.
    """

    table: Mapping[tuple[enum.Enum, enum.Enum], enum.Enum]
    frame: frozenset[enum.Enum] = frozenset()
    frame_name: str = ""

    def lines(self) -> Iterator[str]:
        """The text of the Mermaid diagram."""
        inside, outside = self._arrows()
        yield "stateDiagram-v2"
        if self.frame:
            yield from (f'state "{self.frame_name}" as FRAME {{', *self._names(framed=True), *inside, "}")
        yield from (*self._names(framed=False), *outside)

    def _names(self, *, framed: bool) -> Iterator[str]:
        states = dict.fromkeys(state for (before, _), after in self.table.items() for state in (before, after))
        return (f'state "{_worded(each)}" as {each.name}' for each in states if (each in self.frame) is framed)

    def _arrows(self) -> tuple[list[str], list[str]]:
        """The arrows between states of the frame, and all others."""
        framed = {state.name for state in self.frame}
        inside: list[str] = []
        outside: list[str] = []
        for (before, after), words in self._edges().items():
            (inside if {before, after} <= framed else outside).append(f"{before} --> {after}: {', '.join(words)}")
        return inside, outside

    def _edges(self) -> dict[tuple[str, str], list[str]]:
        """The words on the arrow from one state, or the frame, to another."""
        edges: dict[tuple[str, str], list[str]] = {}
        for (before, event), after in self.table.items():
            if before is not after:
                words = edges.setdefault(self.ends(before, event), [])
                words += [_worded(event)] * (_worded(event) not in words)
        return edges

    def ends(self, before: enum.Enum, event: enum.Enum) -> tuple[str, str]:
        """Where the arrow for this event begins and ends."""
        after = self.table[before, event]
        usual = {self.table.get((state, event)) for state in self.frame}
        if before in self.frame and after not in self.frame and usual == {after}:
            return "FRAME", after.name
        if before not in self.frame and after in self.frame and usual - {None} == {after}:
            return before.name, "FRAME"
        return before.name, after.name


_WITH_MEMBERS = "Members are there"
_ON_THE_WAY = "In the group, or on the way into it"


def _with_members(states: Iterable[enum.Enum]) -> frozenset[enum.Enum]:
    return frozenset(state for state in states if state.name not in ("EMPTY", "DEAD"))


def _in_group(table: Mapping[tuple[MembershipState, Any], MembershipState]) -> frozenset[enum.Enum]:
    # Each kind of group has some of the states only.
    return IN_GROUP & {state for state, _ in table}


DIAGRAMS: Mapping[str, Diagram] = {
    "streams-member": Diagram(STREAMS_MEMBER_TRANSITIONS, _in_group(STREAMS_MEMBER_TRANSITIONS), _ON_THE_WAY),
    "classic-member": Diagram(CLASSIC_MEMBER_TRANSITIONS, _in_group(CLASSIC_MEMBER_TRANSITIONS), _ON_THE_WAY),
    "streams-group": Diagram(STREAMS_GROUP_TRANSITIONS, _with_members(StreamsGroupState), _WITH_MEMBERS),
    "consumer-group": Diagram(CONSUMER_GROUP_TRANSITIONS, _with_members(ConsumerGroupState), _WITH_MEMBERS),
    "transactional-producer": Diagram(
        WRITER_TRANSITIONS,
        frozenset(WriterState) - {WriterState.UNPREPARED, WriterState.UNUSABLE},
        "The producer is prepared, or about to be",
    ),
    "transaction": Diagram(TRANSACTION_TRANSITIONS, frozenset(), ""),
    "classic-group": Diagram(CLASSIC_GROUP_TRANSITIONS, _with_members(ClassicGroupState), _WITH_MEMBERS),
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks on a page with diagrams."""
    return _MARK.sub(lambda match: _drawn(DIAGRAMS[match["name"]]), markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Load Mermaid on pages with diagrams, before the theme looks for it when the page is complete."""
    if _DIAGRAM not in output:
        return output
    script = posixpath.relpath(_MERMAID, page.url or ".")
    return output.replace("</head>", f'<script defer src="{script}"></script></head>', 1)


def _drawn(diagram: Diagram) -> str:
    text = escape("\n".join(diagram.lines()))
    return f'<pre class="mermaid"><code>{text}</code></pre>'


def _worded(value: enum.Enum) -> str:
    return str(value.value).replace("_", " ")
