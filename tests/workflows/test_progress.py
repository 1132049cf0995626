"""No progress: what counts as the same round, and when a job goes round in circles."""

import pytest

from workflows.contracts import CallPart, CallPlan, CallState, JsonObject, RoundPrint
from workflows.digest import digest
from workflows.progress import fingerprint, stalled


def made(tool: str = "look", result: str = "r", repeatable: bool = False, **arguments: object) -> CallState:
    given: JsonObject = dict(arguments)  # type: ignore[arg-type]
    return CallState(
        call=CallPart(id="any", tool=tool, arguments=given),
        plan=CallPlan(call="any", kind="read", digest=digest(tool, given), repeatable=repeatable),
        result_print=result,
    )


def not_made(tool: str, arguments: JsonObject | None = None, raw: str | None = None) -> CallState:
    return CallState(
        call=CallPart(id="any", tool=tool, arguments=arguments, raw=raw), plan=CallPlan(call="any", kind="invalid")
    )


def rounds(letters: str) -> list[RoundPrint]:
    """`aB` is a round "a" with result "B" each; a lower-case letter alone has no result; `~` before it polls."""
    prints: list[RoundPrint] = []
    for word in letters.split():
        polls = word.startswith("~")
        name = word.lstrip("~")
        prints.append(RoundPrint(calls=name[0], results=name[1:], polls=polls))
    return prints


def test_the_same_calls_make_the_same_fingerprint_whatever_their_ids() -> None:
    one, other = made(key="a"), made(key="a").model_copy(update={"call": CallPart(id="other", tool="look")})

    assert fingerprint([one]) == fingerprint([other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([made(key="a")], [made(key="b")]),
        ([made(key="a")], [made("see", key="a")]),
        ([made(key="a")], [made(key="a"), made(key="a")]),
        ([made(key="a"), made(key="b")], [made(key="b"), made(key="a")]),
        ([not_made("nope", {"x": 1})], [not_made("nope", {"x": 2})]),
        ([not_made("look", raw="{")], [not_made("look", raw="{{")]),
        ([not_made("look", raw="{")], [not_made("look", {})]),
    ],
)
def test_other_calls_make_another_fingerprint(one: list[CallState], other: list[CallState]) -> None:
    assert fingerprint(one).calls != fingerprint(other).calls


def test_results_have_a_fingerprint_of_their_own() -> None:
    one, other = fingerprint([made(key="a", result="r1")]), fingerprint([made(key="a", result="r2")])

    assert one.calls == other.calls
    assert one.results != other.results


def test_only_a_round_made_of_repeatable_tools_polls_and_only_the_others_count() -> None:
    poll = made("poll", repeatable=True)

    assert fingerprint([poll]).polls
    assert not fingerprint([poll, made(key="a")]).polls
    assert fingerprint([poll, made(key="a")]) == fingerprint([made(key="a")])


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("", False),
        ("a", False),
        ("a a", False),
        ("a a a", True),
        ("aX aY aZ", True),  # whatever came back
        ("b a a a", True),
        ("a a b a", False),
        ("a a a b", False),
        ("aX bY aX bY", True),
        ("aX bY aX bZ", False),  # something changed
        ("aX bY aZ bY", False),
        ("aX bY bY aX", False),
        ("a b c a", False),
        ("~a ~a ~a ~a", False),
        ("aX ~bY aX ~bY", False),
        ("~b a a a", True),
    ],
)
def test_three_in_a_row_or_two_that_alternate_with_unchanged_results_are_no_progress(
    history: str, expected: bool
) -> None:
    assert stalled(rounds(history)) is expected
