"""Topologies as pictures."""

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, StreamsError, Topology
from kafka_groups.streams.topology import drawing


@pytest.fixture
def topology() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    counts = words.group_by(lambda _, word: word, key=serdes.string).count(store="counts")
    counts.to_stream().to(lambda key, _value, _context: f"of-{key}")
    return builder.build()


MERMAID = """\
flowchart TD
  subgraph part0["sub-topology 0"]
    node0["KSTREAM-SOURCE-0000000000"]
    node1["KSTREAM-KEY-SELECT-0000000001"]
    node2["counts-repartition-filter"]
    node3["counts-repartition-sink"]
  end
  subgraph part1["sub-topology 1"]
    node4["counts-repartition-source"]
    node5["KSTREAM-AGGREGATE-0000000002"]
    node6["KTABLE-TOSTREAM-0000000006"]
    node7["KSTREAM-SINK-0000000007"]
  end
  topic8[("words")]
  topic9[("counts-repartition")]
  topic10[("a topic chosen for each record")]
  store11[("counts")]
  topic8 --> node0
  node0 --> node1
  node1 --> node2
  node2 --> node3
  node3 --> topic9
  topic9 --> node4
  node4 --> node5
  node5 --> node6
  node6 --> node7
  node7 --> topic10
  node5 -.- store11"""


def test_a_mermaid_flowchart_has_topics_parts_and_stores(topology: Topology) -> None:
    assert topology.to_mermaid() == MERMAID


def test_quotes_in_names_are_escaped() -> None:
    topology = Topology().add_source('a "b"', "words", key=serdes.string, value=serdes.string)
    assert 'node0["a #quot;b#quot;"]' in topology.to_mermaid()
    assert 'node0 [label="a \\"b\\""];' in topology.to_dot()


def test_dot_has_the_same_arrows(topology: Topology) -> None:
    dot = topology.to_dot()
    arrows = [line.replace(" --> ", " -> ") + ";" for line in MERMAID.splitlines() if "-->" in line]
    assert [line for line in dot.splitlines() if "->" in line and "style" not in line] == arrows
    assert '  topic8 [shape=cylinder, label="words"];' in dot
    assert "  node5 -> store11 [dir=none, style=dashed];" in dot


def test_without_graphviz_an_svg_is_refused_with_the_remedy(
    topology: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _command: None)
    with pytest.raises(StreamsError, match="Install Graphviz, or use Mermaid"):
        topology.to_svg()
    assert topology._repr_mimebundle_() == {"text/plain": topology.describe(), "text/vnd.mermaid": MERMAID}


@pytest.mark.skipif(not drawing.has_graphviz(), reason="Graphviz is not installed")
def test_with_graphviz_a_notebook_shows_a_picture(topology: Topology) -> None:
    assert topology._repr_mimebundle_()["image/svg+xml"].rstrip().endswith("</svg>")
