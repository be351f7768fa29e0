"""All documents: the commands that print them, and the classes of their items or lines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from kafka_groups.cli.documents.acls import AclCheckEntry, AclEntry
from kafka_groups.cli.documents.config_values import ChangedConfigEntry, ListedConfigEntry
from kafka_groups.cli.documents.dead_letters import (
    CountEntry,
    DeadLetterContents,
    DeadLetterEntry,
    DeletedRecordsEntry,
    PlannedLetterEntry,
    SentLettersEntry,
)
from kafka_groups.cli.documents.described_brokers import BrokerEntry
from kafka_groups.cli.documents.described_groups import (
    DeletedGroupEntry,
    DeletedStreamsEntry,
    GroupContents,
    GroupEntry,
)
from kafka_groups.cli.documents.moved_offsets import (
    DeletedOffsetEntry,
    ForgottenTopicEntry,
    ListedOffsetEntry,
    MovedOffsetEntry,
    StreamsResetEntry,
)
from kafka_groups.cli.documents.records import DeliveredRecordEntry, RecordEntry
from kafka_groups.cli.documents.removed_members import RemovedMemberEntry
from kafka_groups.cli.documents.streams_groups import StreamsGroupContents
from kafka_groups.cli.documents.top import TopGroupEntry, TopWorkerEntry
from kafka_groups.cli.documents.topics import (
    CreatedTopicEntry,
    DeletedTopicEntry,
    GrownTopicEntry,
    LowWatermarkEntry,
    TopicContents,
    TopicEntry,
)
from kafka_groups.cli.documents.transactions import (
    AbortedTransactionEntry,
    FencedProducerEntry,
    HangingTransactionEntry,
    ProducerEntry,
    TransactionContents,
    TransactionEntry,
)
from kafka_groups.cli.documents.users import CredentialEntry, UserEntry

__all__ = ["DOCUMENTS", "LINES"]

DOCUMENTS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "acls list": AclEntry,
        "acls add": AclEntry,
        "acls remove": AclEntry,
        "acls check": AclCheckEntry,
        "brokers list": BrokerEntry,
        "brokers configs": ListedConfigEntry,
        "brokers configs --set": ChangedConfigEntry,
        "dead-letters list": DeadLetterEntry,
        "dead-letters list --summary": CountEntry,
        "dead-letters show": DeadLetterContents,
        "dead-letters send-again": SentLettersEntry,
        "dead-letters send-again --dry-run": PlannedLetterEntry,
        "dead-letters delete": DeletedRecordsEntry,
        "groups list": GroupEntry,
        "groups describe": GroupContents,
        "groups delete": DeletedGroupEntry,
        "groups configs": ListedConfigEntry,
        "groups configs --set": ChangedConfigEntry,
        "members remove": RemovedMemberEntry,
        "offsets describe": ListedOffsetEntry,
        "offsets reset": MovedOffsetEntry,
        "offsets delete": ForgottenTopicEntry,
        "streams list": GroupEntry,
        "streams describe": StreamsGroupContents,
        "streams delete": DeletedStreamsEntry,
        "streams offsets list": ListedOffsetEntry,
        "streams offsets alter": MovedOffsetEntry,
        "streams offsets reset": StreamsResetEntry,
        "streams offsets delete": DeletedOffsetEntry,
        "streams configs": ListedConfigEntry,
        "streams configs --set": ChangedConfigEntry,
        "topics list": TopicEntry,
        "topics describe": TopicContents,
        "topics create": CreatedTopicEntry,
        "topics grow": GrownTopicEntry,
        "topics delete": DeletedTopicEntry,
        "topics configs": ListedConfigEntry,
        "topics configs --set": ChangedConfigEntry,
        "topics delete-records": LowWatermarkEntry,
        "transactions list": TransactionEntry,
        "transactions describe": TransactionContents,
        "transactions producers": ProducerEntry,
        "transactions hanging": HangingTransactionEntry,
        "transactions abort": AbortedTransactionEntry,
        "transactions fence": FencedProducerEntry,
        "users list": UserEntry,
        "users set": UserEntry,
        "users remove": CredentialEntry,
    }
)
"""The class of the items by the command that prints them."""

LINES: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "consume": RecordEntry,
        "share-consume": DeliveredRecordEntry,
        "top": TopGroupEntry,
        "top --worker": TopWorkerEntry,
    }
)
"""The class of the lines by the command that prints one object a line."""
