"""Topologies as pictures: Mermaid and DOT, and SVG where Graphviz is installed."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups

__all__ = ["has_graphviz", "to_dot", "to_mermaid", "to_svg"]

_TIMEOUT_SECONDS = 60


@frozen
class _Drawn:
    """A topology with short names for its nodes, topics and stores.

    Attributes:
        graph: The topology.
        ids: The short names, by kind and name.
    """

    graph: NodeGraph
    ids: dict[tuple[str, str], str]

    def identifier(self, kind: str, name: str) -> str:
        """Return the short name of something."""
        return self.ids.setdefault((kind, name), f"{kind}{len(self.ids)}")

    def arrows(self) -> Iterator[tuple[str, str]]:
        """Return where records go: from topics to sources, from node to node, and from sinks to topics."""
        for node in self.graph.nodes.values():
            here = self.identifier("node", node.name)
            yield from ((self.identifier("node", parent), here) for parent in node.parents)
            if isinstance(node, SourceNode):
                read = node.topics if node.pattern is None else (node.pattern.pattern,)
                yield from ((self.identifier("topic", topic), here) for topic in read)
            if isinstance(node, SinkNode):
                yield here, self.identifier("topic", _target(node))

    def stores(self) -> Iterator[tuple[str, str]]:
        """Return which node uses which store."""
        for name, place in self.graph.stores.items():
            store = self.identifier("store", name)
            yield from ((self.identifier("node", user), store) for user in place.users)


def to_mermaid(graph: NodeGraph) -> str:
    """Return a topology as a Mermaid flowchart: sub-topologies are boxes, topics and stores are cylinders."""
    drawn = _Drawn(graph, {})
    lines = ["flowchart TD"]
    for group in node_groups(graph):
        lines.append(f'  subgraph part{group.number}["{_title(group)}"]')
        lines += [f'    {drawn.identifier("node", node.name)}["{_quoted(node.name)}"]' for node in group.nodes]
        lines.append("  end")
    arrows = [f"  {one} --> {other}" for one, other in drawn.arrows()]
    arrows += [f"  {node} -.- {store}" for node, store in drawn.stores()]
    cylinders = [f'  {short}[("{_quoted(name)}")]' for (kind, name), short in drawn.ids.items() if kind != "node"]
    return "\n".join([*lines, *cylinders, *arrows])


def to_dot(graph: NodeGraph) -> str:
    """Return a topology in the language of Graphviz."""
    drawn = _Drawn(graph, {})
    lines = ["digraph topology {", "  node [shape=box];"]
    for group in node_groups(graph):
        lines += [f"  subgraph cluster{group.number} {{", f'    label="{_escaped(_title(group))}";']
        lines += [f'    {drawn.identifier("node", node.name)} [label="{_escaped(node.name)}"];' for node in group.nodes]
        lines.append("  }")
    arrows = [f"  {one} -> {other};" for one, other in drawn.arrows()]
    arrows += [f"  {node} -> {store} [dir=none, style=dashed];" for node, store in drawn.stores()]
    cylinders = [
        f'  {short} [shape=cylinder, label="{_escaped(name)}"];'
        for (kind, name), short in drawn.ids.items()
        if kind != "node"
    ]
    return "\n".join([*lines, *cylinders, *arrows, "}"])


def has_graphviz() -> bool:
    """Return whether Graphviz is installed."""
    return _graphviz() is not None


def to_svg(graph: NodeGraph) -> str:
    """Return a topology as an SVG picture, made by Graphviz. Blocks while it runs.

    Raises:
        StreamsError: Graphviz is not installed, or failed.
    """
    import subprocess  # noqa: PLC0415 - costs milliseconds, and few draw

    command = _graphviz()
    if command is None:
        raise StreamsError(
            "An SVG picture needs Graphviz's command 'dot', which was not found. Install Graphviz, or use Mermaid."
        )
    done = subprocess.run(  # noqa: S603, the command that was found
        [command, "-Tsvg"], input=to_dot(graph), capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    if done.returncode:
        raise StreamsError(f"Graphviz failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _graphviz() -> str | None:
    import shutil  # noqa: PLC0415 - costs milliseconds, and few draw

    return shutil.which("dot")


def _target(sink: SinkNode) -> str:
    return sink.topic if isinstance(sink.topic, str) else "a topic chosen for each record"


def _title(group: NodeGroup) -> str:
    return f"sub-topology {group.number}" + (" (global)" if group.is_global else "")


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
