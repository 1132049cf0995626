"""What the benchmark reads off its measurements."""

from bench.measure import Measured
from bench.report import bytes_per_round, ratio, table
from bench.runs import Row
from bench.shapes import Shape

LONE = Shape(1, 100)


def row(name: str, seconds: float, *, repetition: int = 0, rounds: int = 100, problem: str | None = None) -> Row:
    measured = Measured(rounds, seconds, worker_cpu=0.5, server_cpu=1.0, peak_bytes=80_000_000, events=1_200)
    measured.bytes, measured.problem = 400_000, problem
    return Row(name, LONE, repetition, measured)


def test_a_ratio_is_taken_within_each_repetition_and_the_median_counts() -> None:
    quiet, busy, odd = (2.0, 1.0), (8.0, 4.0), (9.0, 1.0)
    rows = [
        row(name, seconds, repetition=number)
        for number, pair in enumerate((quiet, odd, busy))
        for name, seconds in zip(("slow", "fast"), pair, strict=True)
    ]

    assert ratio(rows, "fast", "slow", LONE) == 2.0


def test_against_a_peer_that_did_not_complete_nothing_is_won() -> None:
    rows = [row("ours", 1.0), row("theirs", 9.0, rounds=40, problem="TerminatedError: too large")]

    assert ratio(rows, "ours", "theirs", LONE) == 0.0


def test_bytes_of_a_job_that_was_cut_off_are_divided_by_the_rounds_that_it_did() -> None:
    assert bytes_per_round(row("theirs", 9.0, rounds=40).measured, LONE) == 10_000


def test_the_table_says_where_and_how_a_job_ended_that_did_not_complete() -> None:
    _, cells, problem = table([row("theirs", 8.0, rounds=40, problem="TerminatedError: too large")])

    assert cells.split() == [
        "theirs",
        "1",
        "×",
        "100",
        "5.0",
        "200.0",
        "12.5",
        "25.0",
        "1,200",
        "400.0",
        "10,000",
        "80",
    ]
    assert problem.strip() == "after 40 rounds: TerminatedError: too large"
