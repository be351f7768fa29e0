"""Operators of topologies, as nodes run them. Each of the names below is imported on first use.

The DSL uses them as `processors.Filter` and so on, so that importing it is quick.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.streams.processors.aggregates import StreamAggregate, StreamReduce, TableAggregate, TableReduce
    from kafka_groups.streams.processors.changes import RegroupTable
    from kafka_groups.streams.processors.foreign_keys import (
        AnswerSubscribers,
        JoinResponses,
        KeepSubscriptions,
        LookUpForeignRow,
        Subscribe,
        WireSerdes,
    )
    from kafka_groups.streams.processors.lookup_joins import (
        JoinSide,
        KeyedJoiner,
        StreamTableJoin,
        TableJoin,
        joined_view,
    )
    from kafka_groups.streams.processors.self_joins import SelfJoin
    from kafka_groups.streams.processors.sessions import Merger, SessionAggregate, session_view
    from kafka_groups.streams.processors.sliding_windows import SlidingAggregate
    from kafka_groups.streams.processors.stateless import (
        Branch,
        DropNullKeys,
        Filter,
        FlatMap,
        FlatMapValues,
        Foreach,
        Map,
        MapValues,
        MapValuesWithKey,
        PassThrough,
        Peek,
        SelectKey,
        printer,
    )
    from kafka_groups.streams.processors.stream_joins import JoinedSide, JoinReach, OuterStreamJoin, StreamJoin
    from kafka_groups.streams.processors.subscriptions import (
        SUBSCRIPTION,
        SubscriptionResponse,
        SubscriptionResponseSerde,
    )
    from kafka_groups.streams.processors.suppression import Suppress, suppressed_view
    from kafka_groups.streams.processors.tables import (
        TableFilter,
        TableMapValues,
        TableMerge,
        TableSource,
        TableToStream,
        TableTransformValues,
    )
    from kafka_groups.streams.processors.waiting_joins import WaitingJoin
    from kafka_groups.streams.processors.windowed import WindowedAggregate, windowed_view

__all__ = [
    "SUBSCRIPTION",
    "AnswerSubscribers",
    "Branch",
    "DropNullKeys",
    "Filter",
    "FlatMap",
    "FlatMapValues",
    "Foreach",
    "JoinReach",
    "JoinResponses",
    "JoinSide",
    "JoinedSide",
    "KeepSubscriptions",
    "KeyedJoiner",
    "LookUpForeignRow",
    "Map",
    "MapValues",
    "MapValuesWithKey",
    "Merger",
    "OuterStreamJoin",
    "PassThrough",
    "Peek",
    "RegroupTable",
    "SelectKey",
    "SelfJoin",
    "SessionAggregate",
    "SlidingAggregate",
    "StreamAggregate",
    "StreamJoin",
    "StreamReduce",
    "StreamTableJoin",
    "Subscribe",
    "SubscriptionResponse",
    "SubscriptionResponseSerde",
    "Suppress",
    "TableAggregate",
    "TableFilter",
    "TableJoin",
    "TableMapValues",
    "TableMerge",
    "TableReduce",
    "TableSource",
    "TableToStream",
    "TableTransformValues",
    "WaitingJoin",
    "WindowedAggregate",
    "WireSerdes",
    "joined_view",
    "printer",
    "session_view",
    "suppressed_view",
    "windowed_view",
]

_MODULES = MappingProxyType({
    "AnswerSubscribers": "foreign_keys",
    "Branch": "stateless",
    "DropNullKeys": "stateless",
    "Filter": "stateless",
    "FlatMap": "stateless",
    "FlatMapValues": "stateless",
    "Foreach": "stateless",
    "JoinReach": "stream_joins",
    "JoinResponses": "foreign_keys",
    "JoinSide": "lookup_joins",
    "JoinedSide": "stream_joins",
    "KeepSubscriptions": "foreign_keys",
    "KeyedJoiner": "lookup_joins",
    "LookUpForeignRow": "foreign_keys",
    "Map": "stateless",
    "MapValues": "stateless",
    "MapValuesWithKey": "stateless",
    "Merger": "sessions",
    "OuterStreamJoin": "stream_joins",
    "PassThrough": "stateless",
    "Peek": "stateless",
    "RegroupTable": "changes",
    "SUBSCRIPTION": "subscriptions",
    "SelectKey": "stateless",
    "SelfJoin": "self_joins",
    "SessionAggregate": "sessions",
    "SlidingAggregate": "sliding_windows",
    "StreamAggregate": "aggregates",
    "StreamJoin": "stream_joins",
    "StreamReduce": "aggregates",
    "StreamTableJoin": "lookup_joins",
    "Subscribe": "foreign_keys",
    "SubscriptionResponse": "subscriptions",
    "SubscriptionResponseSerde": "subscriptions",
    "Suppress": "suppression",
    "TableAggregate": "aggregates",
    "TableFilter": "tables",
    "TableJoin": "lookup_joins",
    "TableMapValues": "tables",
    "TableMerge": "tables",
    "TableReduce": "aggregates",
    "TableSource": "tables",
    "TableToStream": "tables",
    "TableTransformValues": "tables",
    "WaitingJoin": "waiting_joins",
    "WindowedAggregate": "windowed",
    "WireSerdes": "foreign_keys",
    "joined_view": "lookup_joins",
    "printer": "stateless",
    "session_view": "sessions",
    "suppressed_view": "suppression",
    "windowed_view": "windowed",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
