"""Questions about topics: those that create some, in requests that brokers accept."""

from collections.abc import Awaitable, Callable

from kafka_groups.admin.rules.topics import TopicToCreate, create_topics
from kafka_groups.broker.faults import LOSE_RESPONSE, answer
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import ThrottlingQuotaExceededError, TopicAlreadyExistsError, TopicAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.unit.admin.worlds import TOPIC, AdminWorld, simulate

ONE = TopicToCreate(1)


def asking(test: Callable[[AdminWorld, Asking], Awaitable[None]]) -> None:
    """Run a test with what asks an embedded cluster."""

    async def program(world: AdminWorld) -> None:
        environment = Environment(world.network, world.clock, world.simulation.rng)
        client = admin_client(admin_config(bootstrap_servers=world.cluster.bootstrap_servers), environment)
        await test(world, client.within(60_000))
        await client.close()

    simulate(program)


def with_requests(world: AdminWorld) -> list[CreateTopicsRequest]:
    """Return the list of the requests that come from now on. Each is answered as if all topics were created."""
    seen: list[CreateTopicsRequest] = []

    def created(request: CreateTopicsRequest) -> CreateTopicsResponse:
        seen.append(request)
        return CreateTopicsResponse(topics=tuple(CreatableTopicResult(name=each.name) for each in request.topics))

    world.cluster.faults.on(ApiKey.CREATE_TOPICS, answer(created))
    return seen


def test_topics_are_created_with_their_configs_or_named_errors() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        topics = {"new": TopicToCreate(4, 2, {"cleanup.policy": "compact"}), TOPIC: ONE}
        done = await create_topics(ask, topics)
        assert done.values == {"new": None}
        assert isinstance(done.errors[TOPIC], TopicAlreadyExistsError)
        assert str(done.errors[TOPIC]) == "Topic 'orders' already exists."
        topic = world.cluster.metadata.topic("new")
        assert topic is not None
        assert len(topic.partitions) == 4
        assert world.cluster.metadata.configs.overrides(TOPIC_RESOURCE, "new") == {"cleanup.policy": "compact"}

    asking(test)


def test_a_check_creates_nothing() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        done = await create_topics(ask, {"new": ONE}, validate_only=True)
        assert done.values == {"new": None}
        assert world.cluster.metadata.topic("new") is None

    asking(test)


def test_nothing_is_asked_about_no_topics() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        seen = with_requests(world)
        assert not await create_topics(ask, {})
        assert seen == []

    asking(test)


def test_a_request_has_at_most_500_topics() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        seen = with_requests(world)
        topics = {f"t{number}": ONE for number in range(1_001)}
        assert list(await create_topics(ask, topics)) == list(topics)
        assert [len(each.topics) for each in seen] == [500, 500, 1]

    asking(test)


def test_a_request_has_no_more_than_a_controller_writes_at_once() -> None:
    """Brokers refuse all topics of a request with more than 10,000 topics, configs and partitions."""

    async def test(world: AdminWorld, ask: Asking) -> None:
        topics = {f"t{number}": TopicToCreate(4_997, configs={"a": "1", "b": "2"}) for number in range(3)}
        seen = with_requests(world)
        await create_topics(ask, topics | {"huge": TopicToCreate(20_000), "default": TopicToCreate(-1)})
        assert [[each.name for each in request.topics] for request in seen] == [
            ["t0", "t1"], ["t2"], ["huge"], ["default"]
        ]  # fmt: skip

    asking(test)


def test_brokers_take_two_topics_that_are_too_large_together() -> None:
    async def test(_world: AdminWorld, ask: Asking) -> None:
        done = await create_topics(ask, {"a": TopicToCreate(6_000), "b": TopicToCreate(6_000)}, validate_only=True)
        assert done.values == {"a": None, "b": None}

    asking(test)


def test_an_error_without_a_message_names_the_topic() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        refused = CreatableTopicResult(name="new", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        world.cluster.faults.on(ApiKey.CREATE_TOPICS, answer(CreateTopicsResponse(topics=(refused,))))
        error = (await create_topics(ask, {"new": ONE})).errors["new"]
        assert isinstance(error, TopicAuthorizationFailedError)
        assert str(error).startswith("User:ANONYMOUS needs CREATE on the topic new (TOPIC_AUTHORIZATION_FAILED).")

    asking(test)


def test_a_topic_of_a_request_whose_answer_was_lost_exists() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        world.cluster.faults.on(ApiKey.CREATE_TOPICS, LOSE_RESPONSE, times=1)
        done = await create_topics(ask, {"new": ONE})
        assert isinstance(done.errors["new"], TopicAlreadyExistsError)

    asking(test)


def test_what_may_pass_is_tried_again() -> None:
    async def test(world: AdminWorld, ask: Asking) -> None:
        code = ErrorCode(ThrottlingQuotaExceededError.code)
        refused = CreateTopicsResponse(topics=(CreatableTopicResult(name="new", error_code=code),))
        world.cluster.faults.on(ApiKey.CREATE_TOPICS, answer(refused), times=2)
        assert (await create_topics(ask, {"new": ONE})).values == {"new": None}

    asking(test)
