"""Scripts become as short as they can be."""

from tests.topologies.scripts import Advance, Pipe, Script, random_script
from tests.topologies.shrinking import shrunk, written_out


def test_the_steps_that_matter_stay() -> None:
    script = random_script(1, ("in",), 100)
    first, last = script[3], script[-2]

    def fails(tried: Script) -> bool:
        return first in tried and last in tried

    assert shrunk(script, fails) == (first, last)


def test_a_script_is_written_as_a_program_has_it() -> None:
    assert written_out([Advance(5), Pipe("in", b"k", None, 3)]) == (
        "    Advance(by_ms=5),\n    Pipe(topic='in', key=b'k', value=None, timestamp_ms=3, headers=()),"
    )
