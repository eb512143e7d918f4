"""What the queues of a node share."""

from etcdq.actors.queue.context import Numbers


def test_job_ids_count_from_1_and_indexes_from_the_start_of_the_node() -> None:
    """Both rise by one and are never used twice."""
    numbers = Numbers(1_764_525_600_000_001)
    assert [numbers.next_job_id() for _ in range(3)] == [1, 2, 3]
    assert [numbers.next_index() - 1_764_525_600_000_001 for _ in range(3)] == [0, 1, 2]
