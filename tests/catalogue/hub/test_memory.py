"""What a process remembers is bounded in size and in time."""

from cardmatch.catalogue.hub.memory import Memory


def test_what_is_kept_is_recalled_until_its_time_is_over() -> None:
    """And then it is gone, place and all."""
    memory = Memory()
    memory.keep("a", b"one", until=10.0)
    assert (memory.recall("a", 9.9), memory.recall("b", 0.0)) == (b"one", None)
    assert memory.recall("a", 10.0) is None
    assert (len(memory), memory.bytes) == (0, 0)


def test_what_was_not_used_for_longest_leaves_first() -> None:
    """When the bytes, or the entries, are too many."""
    memory = Memory(most_bytes=10)
    memory.keep("a", b"1234", until=9)
    memory.keep("b", b"1234", until=9)
    memory.recall("a", 0)
    memory.keep("c", b"1234", until=9)
    assert [memory.recall(key, 0) for key in "abc"] == [b"1234", None, b"1234"]
    few = Memory(most_entries=2)
    for key in "abc":
        few.keep(key, b"", until=9)
    assert [few.recall(key, 0) for key in "abc"] == [None, b"", b""]


def test_a_second_value_takes_the_place_of_the_first() -> None:
    """Its bytes are not counted twice; what is larger than everything is not kept."""
    memory = Memory(most_bytes=10)
    memory.keep("a", b"12345", until=9)
    memory.keep("a", b"123", until=9)
    assert (memory.recall("a", 0), memory.bytes) == (b"123", 3)
    memory.keep("b", b"x" * 11, until=9)
    assert (memory.recall("b", 0), memory.bytes) == (None, 0)
