from kafka_groups.broker.runs import Run, Runs


def runs_of(*ranges: tuple[int, int, str]) -> Runs[str]:
    runs: Runs[str] = Runs()
    for first, last, value in ranges:
        runs.assign(first, last, value)
    return runs


def as_tuples(runs: Runs[str]) -> list[tuple[int, int, str]]:
    return [(run.first, run.last, run.value) for run in runs]


def test_neighbours_with_equal_values_become_one_run() -> None:
    assert as_tuples(runs_of((0, 4, "a"), (10, 14, "a"), (5, 9, "a"))) == [(0, 14, "a")]


def test_neighbours_with_other_values_and_runs_apart_stay() -> None:
    assert as_tuples(runs_of((0, 4, "a"), (5, 9, "b"), (11, 12, "b"))) == [(0, 4, "a"), (5, 9, "b"), (11, 12, "b")]


def test_a_value_inside_a_run_splits_it() -> None:
    assert as_tuples(runs_of((0, 9, "a"), (3, 5, "b"))) == [(0, 2, "a"), (3, 5, "b"), (6, 9, "a")]


def test_giving_the_value_back_merges_again() -> None:
    assert as_tuples(runs_of((0, 9, "a"), (3, 5, "b"), (3, 5, "a"))) == [(0, 9, "a")]


def test_a_range_over_several_runs_replaces_them() -> None:
    runs = runs_of((0, 3, "a"), (4, 6, "b"), (8, 9, "c"), (2, 8, "d"))
    assert as_tuples(runs) == [(0, 1, "a"), (2, 8, "d"), (9, 9, "c")]


def test_between_cuts_and_cover_fills_gaps() -> None:
    runs = runs_of((2, 5, "a"), (8, 9, "b"))
    assert runs.between(4, 8) == [Run(4, 5, "a"), Run(8, 8, "b")]
    assert list(runs.cover(0, 10)) == [
        Run(0, 1, None),
        Run(2, 5, "a"),
        Run(6, 7, None),
        Run(8, 9, "b"),
        Run(10, 10, None),
    ]
    assert list(runs.cover(3, 2)) == []


def test_drop_below_cuts_the_run_that_the_offset_is_in() -> None:
    runs = runs_of((0, 3, "a"), (4, 9, "b"))
    runs.drop_below(6)
    assert as_tuples(runs) == [(6, 9, "b")]
    runs.drop_below(100)
    assert len(runs) == 0
    assert runs.first_offset is None
    assert runs.last_offset is None
