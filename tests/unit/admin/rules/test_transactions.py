"""Transactions by the admin client: coordinators on several brokers, one that is gone, and old brokers."""

import pytest

from kafka_groups.admin import FencedProducer
from kafka_groups.admin.rules.transactions import TransactionFilter
from kafka_groups.errors import OperationTimeoutError, UnsupportedVersionError
from tests.unit.admin.worlds import AdminWorld, simulate

IDS = [f"tx-{number}" for number in range(6)]


def test_ids_of_all_coordinators_are_fenced_listed_and_described() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            fenced = await admin.fence_producers(IDS)
            assert list(fenced.checked()) == IDS
            assert {type(each) for each in fenced.values.values()} == {FencedProducer}
            again = await admin.fence_producers([*IDS, IDS[0]])
            assert {each.producer_epoch for each in again.values.values()} == {1}
            listed = await admin.list_transactions()
            assert [(each.transactional_id, each.state) for each in listed.transactions] == [
                (each, "Empty") for each in IDS
            ]
            described = await admin.describe_transactions(IDS)
            assert {each.timeout_ms for each in described.values.values()} == {60_000}

    simulate(program)


def test_a_broker_that_does_not_answer_is_named_and_its_ids_are_missing() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            (await admin.fence_producers(IDS)).checked()
            everything = await admin.list_transactions()
            await world.cluster.kill_broker_async(3, 10_000_000)
            listed = await admin.list_transactions(timeout=5)
            assert [type(error) for error in listed.errors.values()] == [OperationTimeoutError]
            assert list(listed.errors) == [3]
            assert 0 < len(listed.transactions) < len(everything.transactions)

    simulate(program)


@pytest.mark.parametrize(
    ("wanted", "version", "named"),
    [
        (TransactionFilter((), (), 0, None), 0, "open_for_ms"),
        (TransactionFilter((), (), -1, "a.*"), 1, "pattern"),
    ],
)
def test_a_filter_that_a_broker_does_not_know_is_refused(wanted: TransactionFilter, version: int, named: str) -> None:
    with pytest.raises(UnsupportedVersionError, match=named):
        wanted.request(version)
    assert wanted.request(version + 1).transactional_id_pattern == wanted.pattern
