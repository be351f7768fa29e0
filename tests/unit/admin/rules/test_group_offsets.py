"""Committed offsets as questions: what is sent, and what responses mean."""

from typing import Any
from uuid import UUID

import pytest

from kafka_groups.admin.rules.group_offsets import commit_question, fetch_question
from kafka_groups.client.calls.questions import Unfinished
from kafka_groups.client.calls.results import Results
from kafka_groups.client.membership.group_metadata import AsMember
from kafka_groups.errors import (
    CoordinatorLoadInProgressError,
    StaleMemberEpochError,
    TopicAuthorizationFailedError,
    UnknownTopicIdError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BY_NAME, BY_ID = 9, 10


def test_a_member_commits_with_its_epoch_of_the_moment() -> None:
    epochs = iter((3, 4))
    question = commit_question(
        "app", {T0: OffsetAndMetadata(7, 2, "m"), T1: OffsetAndMetadata(8)}, lambda: AsMember("me", next(epochs), "i")
    )
    partitions = (
        OffsetCommitRequestPartition(
            partition_index=0, committed_offset=7, committed_leader_epoch=2, committed_metadata="m"
        ),
        OffsetCommitRequestPartition(
            partition_index=1, committed_offset=8, committed_leader_epoch=-1, committed_metadata=""
        ),
    )
    for epoch in (3, 4):
        assert question.build(["app"], BY_NAME) == OffsetCommitRequest(
            group_id="app",
            generation_id_or_member_epoch=epoch,
            member_id="me",
            group_instance_id="i",
            topics=(OffsetCommitRequestTopic(name="t", partitions=partitions),),
        )


def test_topics_go_by_name() -> None:
    assert commit_question("app", {}).newest_version == fetch_question("app", None).newest_version == BY_NAME


OLD_ID, NEW_ID = UUID(int=1), UUID(int=2)


def test_topics_go_by_id_if_all_ids_are_known() -> None:
    offsets = {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(8)}
    question = commit_question("app", offsets, topic_ids={T0: OLD_ID, T1: NEW_ID})
    assert question.newest_version == BY_ID
    for version in (BY_NAME, BY_ID):  # a broker may be too old for ids
        request: Any = question.build(["app"], version)
        found = [(each.name, each.topic_id, each.partitions[0].partition_index) for each in request.topics]
        assert found == [("t", OLD_ID, 0), ("t", NEW_ID, 1)]
    assert commit_question("app", offsets, topic_ids={T0: OLD_ID}).newest_version == BY_NAME


def test_a_topic_that_is_gone_is_told_at_once_by_name() -> None:
    offsets = {T0: OffsetAndMetadata(7)}
    partition = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    response = OffsetCommitResponse(topics=(OffsetCommitResponseTopic(topic_id=OLD_ID, partitions=(partition,)),))
    answer = commit_question("app", offsets, topic_ids={T0: OLD_ID}).read(["app"], response)["app"]
    assert isinstance(answer, Results), "the member must poll to hear of the next topic of that name"
    with pytest.raises(UnknownTopicIdError, match="UNKNOWN_TOPIC_ID: t-0"):
        answer.checked()


def test_nobody_in_the_group_has_no_id_and_no_epoch() -> None:
    committing, fetching = commit_question("app", {}), fetch_question("app", [T0])
    assert committing.build(["app"], BY_NAME) == OffsetCommitRequest(group_id="app")
    group = OffsetFetchRequestGroup(group_id="app", topics=(OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),))
    assert fetching.build(["app"], BY_NAME) == OffsetFetchRequest(groups=(group,), require_stable=True)


def test_a_member_fetches_with_its_epoch() -> None:
    asked = fetch_question("app", None, lambda: AsMember("me", 3)).build(["app"], BY_NAME)
    group = OffsetFetchRequestGroup(group_id="app", member_id="me", member_epoch=3, topics=None)
    assert asked == OffsetFetchRequest(groups=(group,), require_stable=True)


def committed(*codes: ErrorCode) -> OffsetCommitResponse:
    partitions = tuple(
        OffsetCommitResponsePartition(partition_index=number, error_code=code) for number, code in enumerate(codes)
    )
    return OffsetCommitResponse(topics=(OffsetCommitResponseTopic(name="t", partitions=partitions),))


def test_each_partition_of_a_commit_has_its_result() -> None:
    answer = commit_question("app", {}).read(["app"], committed(ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED))[
        "app"
    ]
    assert isinstance(answer, Results)
    assert answer[T0] is None
    with pytest.raises(TopicAuthorizationFailedError, match="TOPIC_AUTHORIZATION_FAILED: t-1"):
        answer[T1]


def test_a_commit_is_repeated_while_the_coordinator_loads() -> None:
    answer = commit_question("app", {}).read(["app"], committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))["app"]
    assert isinstance(answer, Unfinished)
    assert isinstance(answer.error, CoordinatorLoadInProgressError)


def fetched(*partitions: OffsetFetchResponsePartition, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponse:
    topics = (OffsetFetchResponseTopic(name="t", partitions=partitions),)
    return OffsetFetchResponse(groups=(OffsetFetchResponseGroup(group_id="app", topics=topics, error_code=error),))


def test_offsets_are_fetched_with_what_was_committed_or_none() -> None:
    response = fetched(
        OffsetFetchResponsePartition(partition_index=0, committed_offset=7, committed_leader_epoch=2, metadata="m"),
        OffsetFetchResponsePartition(partition_index=1, committed_offset=-1, metadata=""),
    )
    answer = fetch_question("app", [T0, T1]).read(["app"], response)["app"]
    assert isinstance(answer, Results)
    assert dict(answer.values) == {T0: OffsetAndMetadata(7, 2, "m"), T1: None}


def test_an_error_of_the_group_is_its_answer() -> None:
    answer = fetch_question("app", None).read(["app"], fetched(error=ErrorCode.STALE_MEMBER_EPOCH))["app"]
    assert isinstance(answer, StaleMemberEpochError)
