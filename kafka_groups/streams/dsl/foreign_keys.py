"""Foreign-key joins of tables, as the DSL writes them."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, Slot
from kafka_groups.streams.dsl.lazy_store import LazyStore
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.stores import KeyValueDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode

__all__ = ["ForeignKeyJoin", "join_by_foreign_key"]


@frozen(kw_only=True)
class ForeignKeyJoin:
    """The functions and options of a foreign-key join.

    Attributes:
        on: The foreign key from key and value of a left row.
        joiner: Combines key, left value and right value.
        keeps_unmatched: Whether left rows without a right row have results.
        value: The serde of the results.
        options: Those of the result's store.
        name: The prefix of its names, or None.
    """

    on: Callable[[Any, Any], Any]
    joiner: Callable[[Any, Any, Any], Any]
    keeps_unmatched: bool
    value: Slot
    options: StoreOptions
    name: str | None

    @property
    def word(self) -> str:
        """The operator's name in messages."""
        return "left_join" if self.keeps_unmatched else "join"


@frozen(kw_only=True)
class _Names:
    """The names of a join's nodes, topics and store, in the order of their generated names."""

    subscriptions: str
    subscribe: str
    subscription_sink: str
    subscription_source: str
    store: str
    keep: str
    look_up: str
    answer: str
    responses: str
    response_sink: str
    response_source: str
    resolve: str
    result: str


_PREFIX = "KTABLE-FK-JOIN-"
_PATTERNS = {
    # attribute: (prefix and suffix of the generated name, suffix after a given name)
    "subscriptions": (f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "-topic", "subscription-registration-topic"),
    "subscribe": (f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "", "subscription-registration-processor"),
    "subscription_sink": ("KTABLE-SINK-", "", "subscription-registration-sink"),
    "subscription_source": ("KTABLE-SOURCE-", "", "subscription-registration-source"),
    "store": (f"{_PREFIX}SUBSCRIPTION-STATE-STORE-", "", "subscription-store"),
    "keep": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "subscription-receive"),
    "look_up": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "subscription-join-foreign"),
    "answer": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "foreign-join-subscription"),
    "responses": (f"{_PREFIX}SUBSCRIPTION-RESPONSE-", "-topic", "subscription-response-topic"),
    "response_sink": ("KTABLE-SINK-", "", "subscription-response-sink"),
    "response_source": ("KTABLE-SOURCE-", "", "subscription-response-source"),
    "resolve": (f"{_PREFIX}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-", "", "subscription-response-resolver"),
    "result": (f"{_PREFIX}OUTPUT-", "", "result"),
}


def _names(graph: Graph, name: str | None) -> _Names:
    found = {}
    for attribute, (prefix, suffix, given) in _PATTERNS.items():
        generated = graph.new_name(prefix) + suffix
        found[attribute] = generated if name is None else f"{name}-{given}"
    return _Names(**found)


def join_by_foreign_key(left: TableParts, right: TableParts, join: ForeignKeyJoin) -> TableParts:
    """Add a foreign-key join, and return the table of its results."""
    check_functions(join.word, on=join.on)
    graph = left.graph
    names = _names(graph, join.name)
    left.send_old_values(force=True)
    result = processors.TableMerge()
    kept = _result_store(graph, left.key, join, result)
    row: Serde[Any] = graph.need(right.value, join.word)
    writer = _JoinWriter(
        names=names,
        join=join,
        views=(left.view(), right.view()),
        sources=(left.sources, right.sources),
        wire=processors.WireSerdes(
            topic=names.subscriptions,
            primary=graph.need(left.key, join.word),
            foreign=graph.need(right.key, join.word),
            value=graph.need(left.value, join.word),
        ),
        responses=processors.SubscriptionResponseSerde("response of a foreign-key join", is_immutable=False, value=row),
        result=result,
        kept=kept,
    )
    node = graph.add(names.result, writer.write, left.node, right.node)
    definition = kept.definition
    slots = (left.key, join.value if definition is None else definition.value)
    return kept.parts(graph, node, left.sources | {names.response_source}, slots)


def _result_store(graph: Graph, key: Slot, join: ForeignKeyJoin, result: "processors.TableMerge") -> LazyStore:
    is_named = join.options.store is not None
    default_name = "" if is_named else graph.new_store_name(f"{_PREFIX}OUTPUT-")
    kept = LazyStore(result, lambda: key_value_store(graph, join.word, join.options, default_name, (key, join.value)))
    if is_named:
        kept.open()
    return kept


@frozen(kw_only=True)
class _JoinWriter:
    """Writes the nodes of a join: those in the left table's sub-topology, and those in the right table's."""

    names: _Names
    join: ForeignKeyJoin
    views: tuple[TableView, TableView]
    sources: tuple[frozenset[str], frozenset[str]]
    wire: "processors.WireSerdes"
    responses: "processors.SubscriptionResponseSerde"
    result: "processors.TableMerge"
    kept: LazyStore

    def write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        """Add all nodes."""
        left, right = parents
        self._subscribe(topology, left)
        self._answer(topology, right)
        self._join(topology)
        topology.copartition(self.sources[0] | {self.names.response_source})
        topology.copartition(self.sources[1] | {self.names.subscription_source})

    def _subscribe(self, topology: NodeGraph, left: str) -> None:
        names = self.names
        topology.add_operator(
            names.subscribe, processors.Subscribe(self.join.on, self.wire, self.join.keeps_unmatched), [left]
        )
        topology.add_repartition_topic(names.subscriptions, None)
        topology.add_node(
            SinkNode(
                name=names.subscription_sink,
                parents=(names.subscribe,),
                topic=names.subscriptions,
                key=serdes.bytes_,
                value=processors.SUBSCRIPTION,
            )
        )

    def _answer(self, topology: NodeGraph, right: str) -> None:
        names, view = self.names, self.views[1]
        topology.add_node(
            SourceNode(
                name=names.subscription_source,
                topics=(names.subscriptions,),
                key=serdes.bytes_,
                value=processors.SUBSCRIPTION,
            )
        )
        topology.add_operator(names.keep, processors.KeepSubscriptions(names.store), [names.subscription_source])
        topology.add_operator(names.look_up, processors.LookUpForeignRow(view, self.wire), [names.keep], view.stores)
        topology.add_operator(names.answer, processors.AnswerSubscribers(names.store, self.wire), [right])
        topology.add_state_store(_subscription_store(names.store), names.keep, names.answer)
        topology.add_repartition_topic(names.responses, None)
        topology.add_node(
            SinkNode(
                name=names.response_sink,
                parents=(names.look_up, names.answer),
                topic=names.responses,
                key=serdes.bytes_,
                value=self.responses,
                partitioner=_partition_of_left_row,
            )
        )

    def _join(self, topology: NodeGraph) -> None:
        names, view, join = self.names, self.views[0], self.join
        topology.add_node(
            SourceNode(
                name=names.response_source, topics=(names.responses,), key=self.wire.primary, value=self.responses
            )
        )
        resolver = processors.JoinResponses(view, self.wire, join.joiner, join.keeps_unmatched)
        topology.add_operator(names.resolve, resolver, [names.response_source], view.stores)
        topology.add_operator(names.result, self.result, [names.resolve])
        if self.kept.definition is not None:
            topology.add_state_store(self.kept.definition, names.result)


def _subscription_store(name: str) -> KeyValueDefinition[Any, Any]:
    return KeyValueDefinition(
        name=name, key=serdes.bytes_, value=processors.SUBSCRIPTION, timestamped=True, caching=False
    )


def _partition_of_left_row(
    _topic: str, _key: Any, response: "processors.SubscriptionResponse", _partitions: int
) -> int | None:
    return response.partition
