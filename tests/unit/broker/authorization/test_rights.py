"""The table of rights: it has every API that brokers serve."""

import pytest

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.authorization.rights import RIGHTS
from kafka_groups.protocol.apis import ApiKey


def test_the_table_has_each_api_that_has_a_handler() -> None:
    missing = sorted(key.name for key in HANDLERS.keys() - RIGHTS.keys())
    assert not missing, f"add to broker/authorization/rights.py what these APIs ask for: {', '.join(missing)}"
    assert HANDLERS.keys() == RIGHTS.keys()


@pytest.mark.parametrize("key", [key for key in RIGHTS if RIGHTS[key]], ids=lambda key: key.name)
def test_each_right_can_be_refused_somewhere(key: ApiKey) -> None:
    for asked in RIGHTS[key]:
        assert asked.rights
        assert asked.refusals
        for right in asked.rights:
            refusal_of(right.resource_type)


def test_rights_read_as_people_say_them() -> None:
    assert str(RIGHTS[ApiKey.FETCH][0].rights[0]) == "READ on TOPIC"
