"""`sasl.jaas.config` of Java clients: one login module with options, such as `…PlainLoginModule required a="b";`."""

import re
from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.config.readers import UnfitError, read_text

__all__ = ["JaasEntry", "read_jaas"]

_ENTRY = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?P<flag>\w+)\s*(?P<options>.*?)\s*;\s*", re.DOTALL)
_OPTION = re.compile(
    r"""\s*(?P<name>[\w.\-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"';]+))""", re.DOTALL
)
_FLAGS = ("required", "requisite", "sufficient", "optional")


@frozen
class JaasEntry:
    """A login module and its options.

    Attributes:
        module: Last part of the class name, such as `PlainLoginModule`.
        options: Names and values; never shown, as there are passwords among them.
    """

    module: str
    options: Mapping[str, str] = field(repr=False)


def read_jaas(value: object) -> str:
    """Check that a text is a JAAS configuration of one module that is supported; return it as it is."""
    text = read_text(value)
    parse_jaas(text)
    return text


def parse_jaas(text: str) -> JaasEntry:
    """Parse the text.

    Raises:
        UnfitError: It is not one module with options, or the module is unknown; the text never shows a value.
    """
    entry = _ENTRY.fullmatch(text)
    if entry is None or entry["flag"].lower() not in _FLAGS:
        raise UnfitError("it is not of the form '…LoginModule required name=\"value\" …;'")
    module = entry["module"].rpartition(".")[2]
    if module not in MODULES:
        raise UnfitError(f"the login module {module} is not supported, only {', '.join(MODULES)}")
    return JaasEntry(module, _options(entry["options"]))


def _options(text: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    position = 0
    while position < len(text):
        option = _OPTION.match(text, position)
        if option is None:
            after = f" after the option {[*options][-1]}" if options else ""
            raise UnfitError(f'its options cannot be read{after}; write them as name="value"')
        quoted, bare = option["quoted"], option["bare"]
        options[option["name"]] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        position = option.end()
    return options


MODULES: Mapping[str, tuple[str, ...]] = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
}
"""The login modules that are supported, with their mechanisms."""
