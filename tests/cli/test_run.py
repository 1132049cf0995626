"""`surefoot run` without a terminal: its input, its options, what it prints where, and its exit codes."""

import json

import pytest

from tests.cli import stable_keys
from tests.cli.running import Ended, Place

pytestmark = pytest.mark.server


def message_of(shop: Place, job: str) -> str:
    """What the job was told first."""
    entries = json.loads(shop.run("transcript", job, "--json").out)
    text: str = entries[0]["text"]
    return text


def job_of(ended: Ended) -> str:
    """The id of a job that was started without --json."""
    return next(line for line in ended.err.splitlines() if line.startswith("job ")).removeprefix("job ")


def test_the_answer_is_all_that_is_on_stdout(shop: Place) -> None:
    ended = shop.run("run", "plain", "hello")

    assert (ended.code, ended.out) == (0, "Grüße an alle\n")
    assert "The job is complete" in ended.err
    assert "an app may print" in ended.err


def test_json_is_one_document_with_the_stable_keys(shop: Place) -> None:
    ended = shop.run("run", "plain", "hello", "--json")
    document = json.loads(ended.out)

    assert set(document) >= stable_keys.JOB
    assert (ended.code, document["status"], document["answer"]) == (0, "complete", "Grüße an alle")
    assert (document["state"], document["rounds"], document["pending"]) == ("ended", 0, [])


def test_a_job_that_waits_ends_with_4_and_says_how_to_decide_in_words_and_as_a_document(shop: Place) -> None:
    ended = shop.run("run", "shop", "cups?", "--id", "waits")

    assert (ended.code, ended.out) == (4, "")
    assert 'waits for you: reorder(item="cup", pieces=10)' in ended.err
    assert "surefoot approve waits c2-1" in ended.err
    assert "surefoot watch waits" in ended.err
    assert shop.done() == []

    again = shop.run("run", "shop", "cups?", "--json", "--id", "waits")
    document = json.loads(again.out)

    assert set(document) >= stable_keys.JOB
    assert (again.code, document["state"], document["status"]) == (4, "waiting", None)
    assert [(each["job"], each["call"], each["kind"]) for each in document["pending"]] == [
        ("waits", "c2-1", "decision")
    ]


def test_an_id_of_any_text_stands_in_quotes_where_a_command_is_to_be_copied(shop: Place) -> None:
    ended = shop.run("run", "shop", "cups?", "--id", "all; of $(it)")

    assert ended.code == 4
    assert "surefoot approve 'all; of $(it)' c2-1 " in ended.err
    assert "surefoot watch 'all; of $(it)'\n" in ended.err


def test_approve_all_says_yes_to_every_write(shop: Place) -> None:
    ended = shop.run("run", "twice", "both", "--approve", "all")

    assert (ended.code, ended.out) == (0, "1 x cup ordered and 2 x pot ordered\n")
    assert shop.done() == ["cup 1", "pot 2"]
    assert ended.err.count("approved by --approve all") == 2


def test_approve_all_does_not_guess_an_unknown_outcome(shop: Place) -> None:
    ended = shop.run("run", "bank", "pay", "--approve", "all", "--id", "doubtful")

    assert ended.code == 4
    assert "surefoot resolve doubtful c1-1 --happened RESULT | --not-happened | --give-up" in ended.err


def test_approve_none_leaves_every_write_to_others(shop: Place) -> None:
    assert shop.run("run", "shop", "x", "--approve", "none").code == 4
    assert shop.done() == []


@pytest.mark.parametrize(("arguments", "input"), [(["-"], b"from a pipe\n"), ([], b"from a pipe\n")])
def test_the_input_comes_from_a_pipe(shop: Place, arguments: list[str], input: bytes) -> None:
    ended = shop.run("run", "plain", *arguments, input=input)

    assert ended.code == 0
    assert message_of(shop, job_of(ended)) == "from a pipe\n"


def test_an_input_that_is_not_utf8_is_marked_and_told(shop: Place) -> None:
    ended = shop.run("run", "plain", "-", input=b"caf\xe9 \x00 end")

    assert ended.code == 0
    assert "the input is not UTF-8" in ended.err
    assert message_of(shop, job_of(ended)) == "caf\N{REPLACEMENT CHARACTER} \x00 end"


def test_an_argument_of_any_bytes_is_taken(shop: Place) -> None:
    ended = shop.run("run", "plain", b"caf\xe9".decode(errors="surrogateescape"))

    assert ended.code == 0
    assert message_of(shop, job_of(ended)) == "caf\N{REPLACEMENT CHARACTER}"


def test_limits_of_the_command_go_before_the_agents(shop: Place) -> None:
    ended = shop.run("run", "capped", "x", "--limit", "rounds=2", "--limit", "tool_calls=none", "--json")
    document = json.loads(ended.out)

    assert (ended.code, document["status"], document["rounds"]) == (3, "hit_iteration_cap", 2)


def test_a_limit_ends_with_3_and_says_how_to_go_on(shop: Place) -> None:
    ended = shop.run("run", "capped", "x", "--id", "capped")

    assert ended.code == 3
    assert ended.out.startswith("The work had to stop")
    assert "go on with: surefoot reply capped 'yes, go on'" in ended.err


def test_a_job_without_an_answer_shows_what_was_found(shop: Place) -> None:
    ended = shop.run("run", "finder", "x", "--id", "found")
    page = shop.run("show", "found")

    assert (ended.code, ended.out) == (3, "")
    assert "found    stock (c1-1): 0\n" in ended.err
    assert "found    stock (c1-1): 0\n" in page.out


def test_a_failed_model_ends_with_1(shop: Place) -> None:
    ended = shop.run("run", "failing", "x", "--json")
    document = json.loads(ended.out)

    assert (ended.code, document["status"]) == (1, "model_failure")
    assert "no such luck" in document["error"]


def test_a_model_call_that_is_tried_again_is_told_with_its_failure(shop: Place) -> None:
    ended = shop.run("run", "flaky", "x")

    assert (ended.code, ended.out) == (0, "Here you are.\n")
    assert "the model call is tried again (attempt 2): Overloaded: full up\n" in ended.err


def test_a_model_can_be_named_by_a_script_beside_the_app(shop: Place) -> None:
    assert shop.run("run", "shop", "x", "--model", "scripted:plain.json").out == "Grüße an alle\n"


def test_the_same_id_and_input_find_the_same_job(shop: Place) -> None:
    first = shop.run("run", "twice", "both", "--id", "order 7/2026 ü", "--approve", "all")
    second = shop.run("run", "twice", "both", "--id", "order 7/2026 ü")

    assert first.out == second.out == "1 x cup ordered and 2 x pot ordered\n"
    assert shop.done() == ["cup 1", "pot 2"]


def test_the_same_id_with_another_input_is_a_conflict(shop: Place) -> None:
    shop.run("run", "plain", "one", "--id", "taken")

    ended = shop.run("run", "plain", "two", "--id", "taken", "--json")

    assert (ended.code, json.loads(ended.out)["kind"]) == (2, "JobConflict")
    assert "job taken exists already, with another input (agent plain)" in ended.err


def test_detach_prints_the_id_and_leaves(shop: Place) -> None:
    ended = shop.run("run", "slow", "x", "--detach", "--id", "apart")

    assert (ended.code, ended.out) == (0, "apart\n")
    assert "follow it with: surefoot watch apart" in ended.err
    (shop.folder / "go").touch()
    assert shop.run("watch", "apart").out == "It said: at last\n"


def test_detach_tells_a_job_found_again_by_its_id_from_a_new_one(shop: Place) -> None:
    shop.run("run", "shop", "x", "--id", "again")
    waiting = shop.run("run", "shop", "x", "--id", "again", "--detach", "--json")
    shop.run("run", "capped", "x", "--id", "over")
    ended = shop.run("run", "capped", "x", "--id", "over", "--detach")

    assert (waiting.code, json.loads(waiting.out)["state"]) == (4, "waiting")
    assert (ended.code, ended.out) == (3, "over\n")


def test_reply_and_fork_show_what_comes_of_them_and_not_all_that_was_said_before(shop: Place) -> None:
    first = shop.run("run", "capped", "how many pots?", "--id", "long")
    reply = shop.run("reply", "long", "and how many cups?")
    fork = shop.run("fork", "long", "what else?", "--round", "1", "--id", "branch")

    assert "how many pots?" in first.err
    assert "and how many cups?" in reply.err
    assert "how many pots?" not in reply.err
    assert "what else?" in fork.err
    assert "how many pots?" not in fork.err
    assert message_of(shop, "branch") == "how many pots?"
    assert "how many pots?" in shop.run("watch", "long").err


def test_reply_goes_on_and_a_running_job_is_steered_instead(shop: Place) -> None:
    shop.run("run", "plain", "one", "--id", "talk")
    reply = shop.run("reply", "talk", "two")
    shop.run("run", "shop", "x", "--id", "open")
    refused = shop.run("reply", "open", "go on", "--json")
    misnamed = shop.run("reply", "talk", "x", "--model", "scripted:no.json")

    assert (reply.code, reply.out) == (0, "Grüße an alle\n")
    assert message_of(shop, "talk") == "one"
    assert (refused.code, json.loads(refused.out)["kind"]) == (1, "JobRunning")
    assert "surefoot steer open TEXT" in refused.err
    assert (misnamed.code, shop.run("show", "talk").code) == (2, 0)
