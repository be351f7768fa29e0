"""Regular expressions to compare with Kafka's, and names to match."""

from collections.abc import Iterable

from kafka_groups.broker.coordinators.groups.topic_patterns import TopicPattern

NAMES = (
    "a", "aa", "ab", "abc", "a.b", "a-b", "a_b", "a1", "A", "AB", "b", "ba", "orders", "orders-1", "orders-12",
    "orders.eu", "my-orders", "Orders", "__consumer_offsets", "__mine", "0", "42", "-", "_", "z" * 249,
)  # fmt: skip

VALID = (
    "", ".*", ".+", ".", "a", "a*", "a+?", "a??", "ab?c?", "a|b", "|a", "(a|b)+", "(?:a|b)*", "()", "a.b", r"a\.b",
    "orders", "orders.*", "orders-.*", "order", "rders", ".*orders", "^orders$", "^orders", "orders$", "a$b", r"\Aa\z",
    "orders-[0-9]", "orders-[0-9]+", r"orders-\d{2}", r"orders-\d{1,2}", "orders(-1)?", "[^_].*", "__.*", "[a-c]+",
    "[[:alpha:]]+", "[[:^alpha:]]+", r"[\w-]+", r"\w+", r"\W", r"\D+", r"[\d-z]+", "[a-]+", "[]a]", "[[a]", "[a&&b]+",
    "(?i)orders", "(?i:a)b", "(?i-s:A)", "(?s).", "(?m)^a$", "(?U)a+", r"a\b", r"a\b.b", r"\Qa.b\E", r"\Qa.b", r"\x61",
    r"\x{61}", r"\141", r"\pL", r"\p{Lu}+", r"\P{Lu}+", r"\p{Greek}", "(?P<name>a)b", "(?<name>a)b", "a{2}", "a{1,}",
    "a{,2}", "a{", "a{0}b", "z{249}", "é", ".*é?", r"a\-b", r"\_", "x{1000}|a",
)  # fmt: skip

INVALID = (
    "[", "a[", "[a", "[]", "[^]", "(", "(a", "((a)", "(?:a", "*", "+", "?", "a|*", "(*)", "a**", "a*+", "a???",
    "a{1001}", "a{1,1001}", "a{2,1}", "[z-a]", "[[:foo:]]", r"[a-\d]", r"\pX", r"\p{Foo}", r"\p{", "\\", "a\\",
    r"\q", r"\1", r"\8", r"\C", r"a\C", r"[\C]", r"\Z", r"\G", r"\R", r"\h", r"\k<a>", r"\cA", r"\u0061",
    r"\x4", r"\x{110000}", r"\x{", "(?=a)", "(?!a)", "(?>a)", "(?z)", "(?i", "(?x)a", "(?#a)", "(?P=n)",
    "(?P<n", "(?P<n>a", "(?P<>a)", "(?P<n!>a)", "(?P<n>a)(?P<n>b)", "(?<n>a)|(?P<n>b)", "`[",
)  # fmt: skip

INVALID_WITH_OTHER_WORDS = ("a)", ")", "(?<=a)", "(?<!a)")
"""Kafka refuses these with another description."""


def matching(pattern: TopicPattern, names: Iterable[str]) -> list[str]:
    """The names that a pattern matches."""
    return [name for name in names if pattern.matches(name)]


_OPTIONS = "(?:(?:x|xx|xxxx|xxxxxx|x[a-z]|y|yx|xyx|xxyx)?)"

HEAVY = {
    "properties": r"\pL" * 10_900,
    "negated properties": r"[^\pL]" * 5_400,
    "quantifiers": "a?" * 16_000,
    "classes of quantifiers": "[a-z]?" * 5_400,
    "large ranges": "[!-\U0010fff0]?" * 3_000,
    "words": "[[:word:]]{0,2}" * 2_180,
    "letters in both cases": r"(?i)\w?" * 4_600,
    "classes": "[a-z]" * 6_553,
    "dots": "." * 32_767,
    "escapes": r"\." * 16_383,
    "groups": "(a)|" * 8_191,
    "named groups": "".join(f"(?P<n{number}>a){{0,1}}" for number in range(1_600)),
    "options": f"{_OPTIONS}{{390}}",
    "more options": f"{_OPTIONS}{{1000}}",
    "few options": "(?:(?:x|y|xy)?){400}",
    "options one after the other": "(?:[a-z]?){1000}" * 10,
    "names": "|".join(f"{number * 7919 % 10007:020}" for number in range(1_500)),
}
"""Expressions that take long to compile or to match, some of them valid."""

LONG_NAMES = ("x" * 249, "xy" * 124, "a" * 249, "z")

MOST_STEPS = 2_000_000
"""The most instructions that the broker may go through in one piece. Each takes fifteen nanoseconds at most."""
