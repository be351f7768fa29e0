"""The keys of clients as keyword arguments, so that editors complete them and type checkers check them.

Made by `python -m tests.generating.keywords` from
the tables of keys in this folder.
Edit those and run it again; do not edit this module.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:  # few applications choose an assignor
    from kafka_groups.assignment import ApplicationState, TaskAssignment, TaskAssignor

__all__ = ["AdminKeywords", "ClientKeywords", "ShareConsumerKeywords", "StreamsKeywords", "StreamsMemberKeywords"]


class ClientKeywords(TypedDict, total=False):
    """The keyword arguments that all clients have."""

    bootstrap_servers: str | Sequence[str] | Sequence[tuple[str, int]]
    """`bootstrap.servers`: The brokers to contact first. One of them is enough: it names all others."""

    client_id: str
    """`client.id`: The client's name in the brokers' logs, metrics and quotas, and when you describe the group."""

    default_api_timeout_ms: int
    """`default.api.timeout.ms`: The timeout of calls that you give none."""

    request_timeout_ms: int
    """`request.timeout.ms`: How long a request waits for its response. After that, the client treats the connection as
    lost."""

    retry_backoff_ms: int
    """`retry.backoff.ms`: The wait before a failed request is retried. It doubles with each attempt."""

    retry_backoff_max_ms: int
    """`retry.backoff.max.ms`: The longest wait before a failed request is retried."""

    reconnect_backoff_ms: int
    """`reconnect.backoff.ms`: The wait before the next attempt to connect to an unreachable broker. It doubles with
    each attempt."""

    reconnect_backoff_max_ms: int
    """`reconnect.backoff.max.ms`: The longest wait before the next attempt to connect to an unreachable broker."""

    socket_connection_setup_timeout_ms: int
    """`socket.connection.setup.timeout.ms`: How long it may take to establish a connection."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    """`security.protocol`: How to connect: SSL encrypts with TLS, SASL_… also authenticates with SASL."""

    ssl_ca_location: str | PathLike[str] | None
    """`ssl.ca.location`: A PEM file with the certificates to trust; the system's own by default."""

    ssl_ca_pem: str | None
    """`ssl.ca.pem`: The certificates to trust, as text instead of a file."""

    ssl_certificate_location: str | PathLike[str] | None
    """`ssl.certificate.location`: A PEM file with the client's certificate chain."""

    ssl_certificate_pem: str | None
    """`ssl.certificate.pem`: The client's certificate chain, as text instead of a file."""

    ssl_key_location: str | PathLike[str] | None
    """`ssl.key.location`: A PEM file with the private key of the client's certificate."""

    ssl_key_pem: str | None
    """`ssl.key.pem`: The private key of the client's certificate, as text instead of a file."""

    ssl_key_password: str | None
    """`ssl.key.password`: The password of the private key."""

    ssl_endpoint_identification_algorithm: Literal["https", "none"]
    """`ssl.endpoint.identification.algorithm`: Whether the broker's certificate must be for its host name (https) or
    not (none, or empty)."""

    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    """`sasl.mechanism`: How to authenticate, if the security protocol is SASL_PLAINTEXT or SASL_SSL."""

    sasl_username: str | None
    """`sasl.username`: The user name for PLAIN and SCRAM."""

    sasl_password: str | None
    """`sasl.password`: The password for PLAIN and SCRAM."""

    sasl_jaas_config: str | None
    """`sasl.jaas.config`: The credentials as a Java client takes them: PlainLoginModule or ScramLoginModule with
    username and password, or OAuthBearerLoginModule with clientId, clientSecret, scope and extension_…."""

    oauth_cb: Callable[[str], object] | None
    """`oauth_cb`: Returns a token for OAUTHBEARER; may be `async`. It gets the text of sasl.oauthbearer.config, and
    returns the token, when it expires in seconds since the epoch, and optionally the principal and SASL extensions."""

    sasl_oauthbearer_config: str
    """`sasl.oauthbearer.config`: Text that is passed to the function in oauth_cb."""

    sasl_oauthbearer_method: Literal["default", "oidc"]
    """`sasl.oauthbearer.method`: Where tokens come from: oauth_cb (default), or the token endpoint of an identity
    provider (oidc)."""

    sasl_oauthbearer_client_id: str | None
    """`sasl.oauthbearer.client.id`: The client id for the token endpoint."""

    sasl_oauthbearer_client_secret: str | None
    """`sasl.oauthbearer.client.secret`: The client secret for the token endpoint."""

    sasl_oauthbearer_scope: str | None
    """`sasl.oauthbearer.scope`: The scope to request, if any."""

    sasl_oauthbearer_extensions: str | Mapping[str, str] | tuple[tuple[str, str], ...]
    """`sasl.oauthbearer.extensions`: SASL extensions to send with the token, such as
    logicalCluster=lkc-…,identityPoolId=pool-…."""

    sasl_oauthbearer_token_endpoint_url: str | None
    """`sasl.oauthbearer.token.endpoint.url`: The token endpoint of the identity provider (OAuth 2.0 client
    credentials)."""

    sasl_oauthbearer_header_urlencode: bool
    """`sasl.oauthbearer.header.urlencode`: Whether client id and secret are URL-encoded before they are sent, as RFC
    6749 asks and few providers need."""

    https_ca_location: str | PathLike[str] | None
    """`https.ca.location`: A PEM file with the certificates to trust at the token endpoint; the system's own by
    default."""


class ShareConsumerKeywords(ClientKeywords, total=False):
    """The keyword arguments of a share consumer."""

    group_id: str
    """`group.id`: The share group to join."""

    client_rack: str
    """`client.rack`: The rack of the client, which the coordinator shows. Empty for none."""

    acknowledgement_mode: Literal["implicit", "explicit"]
    """`share.acknowledgement.mode`: implicit: the next poll or commit accepts all records that were delivered.
    explicit: you acknowledge every record before you poll again."""

    acquire_mode: Literal["batch_optimized", "record_limit"]
    """`share.acquire.mode`: batch_optimized: acquires whole batches of the log, so a poll may return more than
    max.poll.records. record_limit: never returns more than max.poll.records, at a lower rate (KIP-1206)."""

    max_poll_records: int
    """`max.poll.records`: How many records one poll returns. A strict limit in record_limit mode, a hint otherwise: a
    poll returns whole batches of the log until it has this many."""

    fetch_max_records: int | Literal["adaptive"]
    """`fetch.max.records`: How many records one fetch asks for. adaptive: max.poll.records at first, and more while
    your program waits for records. A number is used as it is; max.poll.records' value is what Kafka's Java client asks
    for. In record_limit mode a fetch asks for max.poll.records."""

    fetch_min_bytes: int
    """`fetch.min.bytes`: The broker responds to a fetch when it has this much, or when fetch.max.wait.ms has passed."""

    fetch_max_bytes: int
    """`fetch.max.bytes`: The largest response to a fetch. A single batch that is larger is returned nevertheless."""

    fetch_max_wait_ms: int
    """`fetch.max.wait.ms`: The longest time that the broker waits for fetch.min.bytes."""

    max_poll_interval_ms: int
    """`max.poll.interval.ms`: If you do not poll for this long, the consumer leaves the group, and other members get
    its records."""

    check_crcs: bool
    """`check.crcs`: Whether to verify the checksum of each record batch before reading it."""

    allow_auto_create_topics: bool
    """`allow.auto.create.topics`: Whether the broker may create a subscribed topic that does not exist. false: a
    warning names the topic, and the consumer waits for it. true: the broker creates it if auto.create.topics.enable is
    set there, and a warning says so."""

    metadata_max_age_ms: int
    """`metadata.max.age.ms`: How often the client refreshes what it knows about topics and brokers, even if nothing has
    changed."""

    prefetch_batches: int
    """`prefetch.batches`: How many batches to prefetch from each leader while you process records. 0 turns prefetching
    off."""

    auto_renew: bool
    """`auto.renew`: Whether to renew the locks of records that you have received and not yet acknowledged, before they
    expire (KIP-1222). Explicit mode only."""

    on_deserialization_error: Literal["release", "raise"]
    """`on.deserialization.error`: release: a record that fails to deserialise has no value; its error and raw_value say
    why. It is released unless you acknowledge it. raise: poll raises, as in Java."""

    unknown_config: Literal["raise", "warn"]
    """`unknown.config`: What to do about keys that a share consumer does not have. raise: raise one error that lists
    all of them. warn: log a warning for each and ignore it, so that you can try a configuration made for another
    client."""


class AdminKeywords(ClientKeywords, total=False):
    """The keyword arguments of an admin client."""


class StreamsMemberKeywords(ClientKeywords, total=False):
    """The keyword arguments of a member of a streams group."""

    application_id: str
    """`application.id`: The application, which is the id of its streams group."""

    application_server: str | tuple[str, int] | None
    """`application.server`: Where the process answers interactive queries. The other members of the group get to know
    it."""

    client_rack: str
    """`client.rack`: The rack of the client, which the coordinator shows. Empty for none."""

    client_tags: Mapping[str, str]
    """`client.tags`: Tags of the process, for assignors that place standby tasks by them."""

    group_instance_id: str | None
    """`group.instance.id`: Makes the members of this process static (KIP-345): one that is restarted within the session
    timeout of the group gets its tasks back. The number of the member is added, as in <id>-1."""

    max_poll_interval_ms: int
    """`max.poll.interval.ms`: If you do not poll for this long, the member leaves the group, and other members get its
    tasks. It is also how long the group waits for the member to give up tasks."""

    metadata_max_age_ms: int
    """`metadata.max.age.ms`: How often the client refreshes what it knows about topics and brokers, even if nothing has
    changed."""


class StreamsKeywords(StreamsMemberKeywords, total=False):
    """The keyword arguments of a streams application."""

    state_dir: str | PathLike[str]
    """`state.dir`: The directory for local state. Each application has a folder of its id in it, which one process uses
    at a time. It has the id by which the group recognises the process after a restart."""

    default_dsl_store: Literal["in_memory", "lmdb"]
    """`default.dsl.store`: Where operators keep stores whose definition does not say so. in_memory: a restart reads
    their changelogs from the beginning. lmdb: in files in state.dir, and a restart continues with them; it needs the
    package lmdb, which kafka-groups[streams] installs."""

    state_cleanup_delay_ms: int
    """`state.cleanup.delay.ms`: How long the files of a task that has moved to another process are kept, so that it may
    come back to them."""

    num_workers: int
    """`num.workers`: How many workers process tasks. One runs in a thread of your process. From two on, each is a
    process."""

    processing_guarantee: Literal["at_least_once", "exactly_once_v2"]
    """`processing.guarantee`: What is promised after a failure. at_least_once: every record is processed, and some may
    be processed twice. exactly_once_v2: outputs, stores and offsets are written in transactions, so that those who read
    committed records see the results of each record once."""

    commit_interval_ms: int
    """`commit.interval.ms`: The longest time between two commits of the offsets and the state of tasks."""

    max_task_idle_ms: int
    """`max.task.idle.ms`: How long a task waits for records of an empty partition before it processes those of its
    others, so that joins see records in the order of their timestamps. 0: only while it is known to have more. -1:
    never."""

    buffered_records_per_partition: int
    """`buffered.records.per.partition`: How many records of a partition wait in memory before reading of it is paused.
    The limit isn't exact."""

    max_poll_records: int
    """`max.poll.records`: How many records a worker takes from the consumer at once."""

    poll_ms: int
    """`poll.ms`: How long an idle worker waits for records before it looks at its other work."""

    auto_offset_reset: str
    """`auto.offset.reset`: Where to begin in a partition without a committed offset, if its source doesn't say it with
    offset_reset."""

    statestore_cache_max_bytes: int
    """`statestore.cache.max.bytes`: Memory for updates that the operators of a task hold back until the next commit, so
    that they forward a key's last one. When they have more, they forward all of them. 0: every update is forwarded."""

    statestore_uncommitted_max_bytes: int
    """`statestore.uncommitted.max.bytes`: How much uncommitted state a worker may have in memory. When it has more, it
    commits at once."""

    task_timeout_ms: int
    """`task.timeout.ms`: How long a task may make no progress because of errors that can be retried, before it
    fails."""

    repartition_purge_interval_ms: int
    """`repartition.purge.interval.ms`: The shortest time between two deletions of processed records from repartition
    topics."""

    metrics_recording_level: Literal["INFO", "DEBUG"]
    """`metrics.recording.level`: Which metrics are recorded. INFO: those that cost time for each turn of a worker.
    DEBUG: also those that cost time for each record: sizes, ages and lateness of records."""

    default_timestamp_extractor: Callable[..., object] | None
    """`default.timestamp.extractor`: Returns the timestamp of a record in ms since 1970, for sources without one of
    their own. By default, records have the timestamps that their topics have for them, and a negative one is an
    error."""

    deserialization_exception_handler: Callable[..., object] | None
    """`deserialization.exception.handler`: Decides about records that can't be decoded. By default, they end the
    application."""

    processing_exception_handler: Callable[..., object] | None
    """`processing.exception.handler`: Decides about records for which your code raises an exception. By default, they
    end the application."""

    production_exception_handler: Callable[..., object] | None
    """`production.exception.handler`: Decides about records that can't be serialised, are too large for the producer or
    the topic, or whose topic does not exist or may not be written to. By default, they end the application."""

    uncaught_exception_handler: Callable[..., object] | None
    """`uncaught.exception.handler`: Decides what happens when an error ends a worker. By default, it ends the
    application's instance."""

    errors_dead_letter_queue_topic_name: str | None
    """`errors.dead.letter.queue.topic.name`: The topic for records for which a handler returns DEAD_LETTER. It must
    exist."""

    probe_address: str | tuple[str, int] | None
    """`probe.address`: Where to answer HTTP requests for /live and /ready, such as those of Kubernetes."""

    group_protocol: Literal["streams", "classic"]
    """`group.protocol`: Who assigns the tasks. streams: the brokers, which must be Kafka 4.2 or newer. classic: one of
    the members, which may be one of Kafka Streams, on Kafka 3.7 or newer. All instances must have the same one."""

    producer: Mapping[str, object]
    """`producer`: Settings of the producer, such as producer.linger.ms."""

    consumer: Mapping[str, object]
    """`consumer`: Settings of all consumers, such as consumer.fetch.min.bytes."""

    main_consumer: Mapping[str, object]
    """`main.consumer`: Settings of the consumer of tasks. They come before those of consumer."""

    restore_consumer: Mapping[str, object]
    """`restore.consumer`: Settings for reading changelogs and global topics. They come before those of consumer."""

    global_consumer: Mapping[str, object]
    """`global.consumer`: The same as restore.consumer: one reader reads both, so they can't differ."""

    topic: Mapping[str, object]
    """`topic`: Configs of the internal topics, such as topic.min.insync.replicas. A store's own override them."""

    session_timeout_ms: int
    """`session.timeout.ms`: The group gives the tasks of a member to others if it has not heard from it for this long.
    Brokers limit it by group.min.session.timeout.ms and group.max.session.timeout.ms. Only with
    group.protocol=classic."""

    heartbeat_interval_ms: int
    """`heartbeat.interval.ms`: How often a member tells the group that it is there, and hears of changes; at most a
    third of the session. Only with group.protocol=classic."""

    num_standby_replicas: int
    """`num.standby.replicas`: How many other processes keep a copy of the stores of each task. Only with
    group.protocol=classic."""

    max_warmup_replicas: int
    """`max.warmup.replicas`: How many copies of stores are made at a time, in addition to standby tasks, for tasks that
    will move. Only with group.protocol=classic."""

    acceptable_recovery_lag: int
    """`acceptable.recovery.lag`: How many records of its changelogs a process may lack to get a task at once. Only with
    group.protocol=classic."""

    probing_rebalance_interval_ms: int
    """`probing.rebalance.interval.ms`: How often the group checks whether copies of stores have caught up, while tasks
    wait for them to move. Only with group.protocol=classic."""

    rack_aware_assignment_strategy: Literal["none", "min_traffic", "balance_subtopology"]
    """`rack.aware.assignment.strategy`: Whether tasks shall run in the rack of replicas of their partitions (KIP-925).
    min_traffic: as many as possible, balance_subtopology: but so that each process has its share of each sub-topology.
    It needs client.rack in all instances, and broker.rack on the brokers. Only with group.protocol=classic."""

    rack_aware_assignment_traffic_cost: int | None
    """`rack.aware.assignment.traffic_cost`: What it costs that a task reads a partition from another rack. None: 10,
    and 1 with the sticky assignors. Only with group.protocol=classic."""

    rack_aware_assignment_non_overlap_cost: int | None
    """`rack.aware.assignment.non_overlap_cost`: What it costs that a task moves for the sake of racks. None: 1, and 10
    with the sticky assignors. Only with group.protocol=classic."""

    rack_aware_assignment_tags: str | Sequence[str]
    """`rack.aware.assignment.tags`: The client tags by whose values standby tasks are spread (KIP-708). Each must be
    set with client.tag.<name>. Only with group.protocol=classic."""

    replication_factor: int
    """`replication.factor`: The replication factor of internal topics. -1: that of the brokers. Only with
    group.protocol=classic."""

    task_assignor_class: "type[TaskAssignor] | TaskAssignor | Callable[[ApplicationState], TaskAssignment] | str | None"
    """`task.assignor.class`: The task assignor that this instance uses while it leads the group (KIP-924). By default,
    and for highly_available, it is HighAvailabilityTaskAssignor. StickyTaskAssignor, LegacyStickyTaskAssignor and
    FallbackPriorTaskAssignor are also chosen by their names. Only with group.protocol=classic."""
