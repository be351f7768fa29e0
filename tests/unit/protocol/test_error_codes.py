"""Our error codes and classes against kio's table, which is made from Kafka's sources."""

import re

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from kafka_groups import errors
from kafka_groups.errors import BrokerError, error_for, is_retriable
from kafka_groups.protocol.error_codes import ErrorCode

SINCE_4_4 = {134, 135, 136}
CLASSES = sorted(BrokerError.__subclasses__(), key=lambda cls: cls.code)
# Kafka's name of a code, where our class's name is not simply made from it.
OTHER_NAMES = {"InvalidTopicError": "INVALID_TOPIC_EXCEPTION"}


def test_numbers_and_names_are_kafkas() -> None:
    ours = {code.value: code.name for code in ErrorCode}
    theirs = {int(code): code.name.upper() for code in KioErrorCode}

    assert {number: name for number, name in ours.items() if number not in SINCE_4_4} == theirs
    assert ours.keys() >= SINCE_4_4


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_class_has_its_code_name_and_whether_it_is_retriable(cls: type[BrokerError]) -> None:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Error")).upper()
    candidates = {snake, f"{snake}_ERROR", f"{snake}_EXCEPTION", OTHER_NAMES.get(cls.__name__)}

    assert ErrorCode(cls.code).name in candidates
    assert cls.retriable is KioErrorCode(cls.code).retriable
    assert isinstance(error_for(cls.code), cls)
    assert is_retriable(error_for(cls.code)) is cls.retriable


def test_no_two_classes_share_a_code() -> None:
    assert len({cls.code for cls in CLASSES}) == len(CLASSES)


def test_every_share_error_that_a_user_can_act_on_has_a_class() -> None:
    wanted = {3, 6, 25, 29, 30, 35, 42, 68, 69, 81, 100, 110, 121, 122, 123, 124, 133}

    assert wanted <= {cls.code for cls in CLASSES}


def test_a_code_without_a_class_keeps_its_number_and_message() -> None:
    error = error_for(999, "new in a later release")

    assert type(error) is BrokerError
    assert (error.code, str(error), error.retriable) == (999, "new in a later release", False)
    assert str(error_for(998)) == "the broker answered with error code 998"


def test_an_error_without_a_message_says_what_its_class_says() -> None:
    assert str(error_for(121)) == (errors.InvalidRecordStateError.__doc__ or "").split("\n")[0]
    assert str(error_for(121, "late")) == "late"
