"""Statistics as a value."""

from etcdq.beanstalk.records import Statistics


def test_statistics_is_a_mapping_with_types() -> None:
    """Fields by the server's names, and of the type one asks for; what is not there is nothing."""
    figures = Statistics({"a": 5, "b": 0.5, "c": "x"})

    assert (figures["a"], len(figures), list(figures)) == (5, 3, ["a", "b", "c"])
    assert [figures.count(name) for name in "abcd"] == [5, 0, 0, 0]
    assert [figures.number(name) for name in "abcd"] == [5.0, 0.5, 0.0, 0.0]
    assert [figures.text(name) for name in "abcd"] == ["5", "0.5", "x", ""]
    assert repr(figures) == "Statistics({'a': 5, 'b': 0.5, 'c': 'x'})"
