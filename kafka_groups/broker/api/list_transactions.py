"""ListTransactions (key 66), v0-v2: the transactional ids that this broker coordinates (KIP-664, KIP-994, KIP-1152).

Ids that the client may not describe are left out.

Errors: COORDINATOR_LOAD_IN_PROGRESS, INVALID_REGULAR_EXPRESSION.
"""

from collections.abc import Callable

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.broker.coordinators.transactions.states import TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import Transaction
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

__all__ = ["handle"]

_NAMES = frozenset(state.value for state in TransactionState)


async def handle(request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    """Return the transactional ids that pass all filters."""
    # A newer client may know states that this broker does not. They are told in the response instead of failing it.
    unknown = tuple(name for name in dict.fromkeys(request.state_filters) if name not in _NAMES)
    try:
        is_wanted = _filter(request, context.wall_ms)
        items = list(context.services.coordinators.transactions.items())
    except BrokerError as error:
        return ListTransactionsResponse(error_code=code_of(error))
    listed = [
        ListedTransaction(transactional_id=id_, producer_id=known.producer_id, transaction_state=known.state.value)
        async for id_, known in context.turns.each(items, CHEAP)
        if is_wanted(id_, known) and context.may(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, id_)
    ]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=tuple(listed))


def _filter(request: ListTransactionsRequest, wall_ms: int) -> Callable[[str, Transaction], bool]:
    producer_ids, states = frozenset(request.producer_id_filters), frozenset(request.state_filters)
    pattern = compile_pattern(request.transactional_id_pattern) if request.transactional_id_pattern else None
    longer_than_ms = request.duration_filter

    def is_wanted(transactional_id: str, known: Transaction) -> bool:
        return (
            (not producer_ids or known.producer_id in producer_ids)
            and (not states or known.state.value in states)
            # An id without a transaction has the start -1, so it passes this filter as one that has lasted very long.
            # Kafka does the same (TransactionStateManager.listTransactionStates).
            and (longer_than_ms < 0 or wall_ms - known.start_ms > longer_than_ms)
            and (pattern is None or pattern.matches(transactional_id))
        )

    return is_wanted
