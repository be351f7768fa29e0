import pytest

from kafka_groups.broker.authorization.hosts import check_host, is_in_block, is_same_host


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("*", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
        ("localhost", "127.0.0.1", False),
        ("10.1.2.0/24", "10.1.2.3", False),
    ],
)
def test_hosts_are_compared_as_text(pattern: str, host: str, expected: bool) -> None:
    assert is_same_host(pattern, host) is expected


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("10.1.2.0/24", "10.1.2.3", True),
        ("10.1.2.9/24", "10.1.2.3", True),
        ("10.1.2.0/24", "10.1.3.3", False),
        ("10.1.2.3/32", "10.1.2.3", True),
        ("0.0.0.0/0", "10.1.2.3", True),
        ("::1/128", "0:0:0:0:0:0:0:1", True),
        ("::/0", "10.1.2.3", False),
        ("/10.1.2.3", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("10.0.0.0/8", "a-client-in-memory", False),
        ("fe80::/10", "fe80:0:0:0:0:0:0:1%1", True),
        ("::/0", "::1%lo", False),
    ],
)
def test_a_block_has_the_addresses_in_it(pattern: str, host: str, expected: bool) -> None:
    assert is_in_block(pattern, host) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "10.1.2.3",
        "localhost",
        "::1",
        "127.0.0.1/08",
        "10.1.2.3/8",
        "010.0.0.0/8",
        "::1/+1",
        "[::1]/128",
        "fe80::1%1/64",
    ],
)
def test_hosts_of_new_acls(pattern: str) -> None:
    check_host(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/10.1.2.3", "Could not parse [/10.1.2.3]"),
        ("10.1.2.3/", "Could not parse [10.1.2.3/]"),
        ("10.1.2.3/-1", "Could not parse [10.1.2.3/-1]"),
        ("10.1.2.3/33", "Value [33] not in range [0,32]"),
        ("10.1.2.256/8", "Value [256] not in range [0,255]"),
        ("10.1/16", "Could not parse [10.1/16]"),
        ("localhost/8", "Could not parse [localhost/8]"),
        ("::1/129", "Could not parse [::1/129] - prefix length must be between 0 and 128"),
        ("::1/a", "Could not parse [::1/a] - invalid prefix length"),
        ("::1/64/64", "Could not parse [::1/64/64] - invalid prefix length"),
        ("a:b/16", "Could not parse [a:b]"),
        ("::ffff:10.0.0.0/104", "Could not parse [::ffff:10.0.0.0] - not an IPv6 address"),
    ],
)
def test_blocks_that_are_refused(pattern: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"^Invalid CIDR notation ") as caught:
        check_host(pattern)
    assert str(caught.value) == f"Invalid CIDR notation '{pattern}': {text}"


def test_a_host_is_not_empty() -> None:
    with pytest.raises(ValueError, match=r"^Host pattern cannot be null or empty$"):
        check_host("")
