"""What a line of a file may be, and what is said of one that can't: by its number, with what is wrong."""

import errno
import gzip
import io
import json
import tempfile
from pathlib import Path

import pytest

from surefoot.batches.checking import checked, reading
from surefoot.batches.files import LINE_BYTES, BadLine, open_batch, read_csv, read_jsonl
from surefoot.errors import WrongValue
from surefoot.texts import MESSAGE_BYTES
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.contracts import Limits

GOOD = b'{"custom_id": "a", "input": "go"}'


def read(text: bytes, agent: str | None = "worker") -> list[BatchLine | BadLine]:
    return list(read_jsonl(io.BytesIO(text), agent=agent))


def rows(text: bytes, template: str) -> list[BatchLine | BadLine]:
    return list(read_csv(io.BytesIO(text), template, agent="worker"))


def problem(text: bytes, agent: str | None = "worker") -> str:
    (bad,) = read(text, agent)
    assert isinstance(bad, BadLine), bad
    return bad.problem


def test_a_line_has_all_that_its_job_begins_with() -> None:
    text = b'{"custom_id": "a", "input": "go", "agent": "x", "limits": {"rounds": 2}, "metadata": {"k": [1]}}'

    assert read(text) == [
        BatchLine(number=1, custom_id="a", input="go", agent="x", limits=Limits(rounds=2), metadata={"k": [1]})
    ]


def test_lines_are_numbered_as_an_editor_does_and_empty_ones_are_none() -> None:
    found = read(b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n   \n" + b'{"custom_id": "b", "input": "go"}')

    assert [(line.number, line.custom_id) for line in found if isinstance(line, BatchLine)] == [(1, "a"), (4, "b")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense", "Invalid JSON"),
        (b"[1]", "the line"),
        (b'{"input": "go"}', "custom_id"),
        (b'{"custom_id": "a"}', "input"),
        (b'{"custom_id": 7, "input": "go"}', "custom_id"),
        (b'{"custom_id": "", "input": "go"}', "custom_id"),
        (b'{"custom_id": "a", "input": ""}', "input"),
        (
            b'{"custom_id": "a", "input": "go", "modell": "x"}',
            "modell: there is no such field, but custom_id, input, agent, ",
        ),
        (
            b'{"custom_id": "a", "input": "go", "limits": {"round": 1}}',
            "limits.round: there is no such field, but rounds, ",
        ),
        (b'{"custom_id": "a", "input": "go", "agent": "no name"}', "agent 'no name' can't be a name"),
        (b'{"custom_id": "a\\u0000", "input": "go"}', "characters that can't be printed"),
        (b'{"custom_id": "a", "input": "\\ud800"}', "unexpected end of hex escape at column 36"),
        (b'{"custom_id": "a", "input": "\xff"}', "it is not in UTF-8: invalid start byte ff at byte 30"),
        (b"\x00", "Invalid JSON"),
        (json.dumps({"custom_id": "a" * 201, "input": "go"}).encode(), "custom_id"),
        (
            json.dumps({"custom_id": "a", "input": "ä" * MESSAGE_BYTES}).encode(),
            "more than one job can be started with",
        ),
        (json.dumps({"custom_id": "a", "input": "x" * (MESSAGE_BYTES + 1)}).encode(), "its input has 1,000,001 bytes"),
        (json.dumps({"custom_id": "a", "input": "x", "metadata": {"k": "x" * 100_001}}).encode(), "its metadata have"),
    ],
)
def test_a_line_that_cannot_be_a_job_says_why(line: bytes, said: str) -> None:
    assert said in problem(line)


def test_a_line_that_is_cut_off_or_not_in_utf_8_is_told_so_with_its_place() -> None:
    cut, latin = read(b'{"custom_id": "a", "input": "cut\n' + b'{"custom_id": "b", "input": "M\xfcller"}\n')

    assert str(cut) == "line 1: the line: Invalid JSON: EOF while parsing a string at column 32"
    assert str(latin) == "line 2: it is not in UTF-8: invalid start byte fc at byte 31"


def test_a_line_may_name_only_an_agent_that_there_is_where_that_is_known() -> None:
    line = b'{"custom_id": "a", "input": "go", "agent": "nobody"}'
    (bad,) = read_jsonl(io.BytesIO(line), agents=["shop", "desk"])

    assert str(bad) == "line 1: there is no agent 'nobody'; the app has: desk, shop"
    assert isinstance(read(line)[0], BatchLine)


def test_a_line_without_an_agent_needs_one_for_the_whole_batch() -> None:
    assert problem(GOOD, agent=None) == 'it names no "agent", and none was given for the whole batch'


def test_a_custom_id_that_was_there_is_told_with_the_line_that_had_it() -> None:
    _, bad = read(GOOD + b"\n" + GOOD)

    assert str(bad) == "line 2: custom_id 'a' stands in line 1 already; each line needs its own"


def test_of_a_line_beyond_all_sizes_only_the_beginning_is_held_and_the_next_one_is_read() -> None:
    first, second = read(b"x" * (3 * LINE_BYTES) + b"\n" + GOOD)

    assert isinstance(first, BadLine)
    assert "longer than 1,200,000 bytes" in first.problem
    assert second == BatchLine(number=2, custom_id="a", input="go")


# --- CSV


def test_a_row_is_put_into_the_template_with_quotes_breaks_and_all() -> None:
    text = '\ufeffcustom_id,name,note\r\n1,"Ann, A.","two\r\nlines {name}"\r\n\r\n,Bob,\r\n'.encode()

    assert rows(text, "To {name}: {note}") == [
        BatchLine(number=1, custom_id="1", input="To Ann, A.: two\r\nlines {name}"),
        BatchLine(number=3, custom_id="3", input="To Bob: "),
    ]


def test_a_row_with_another_number_of_values_is_bad_and_the_others_are_not() -> None:
    found = rows(b"name\na,b\nc\n", "{name}")

    assert [str(line) if isinstance(line, BadLine) else line.input for line in found] == [
        "line 1: it has 2 values, and the head has 1 column",
        "c",
    ]


def test_a_template_asks_for_columns_that_there_are() -> None:
    with pytest.raises(WrongValue, match="the template asks for nam, and the file's columns are name"):
        rows(b"name\na\n", "{nam}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"n\xfcme\n1\n", "line 1: this is no CSV in UTF-8 (about line 1 of the file): "),
        (b'name\n"two\nlines"\n"open\n', "line 2: this is no CSV in UTF-8 (about line 4 of the file): "),
    ],
)
def test_what_is_no_csv_ends_the_reading_with_a_bad_row_counted_as_the_others_are(text: bytes, said: str) -> None:
    *_, bad = rows(text, "text") if text.startswith(b"n\xfc") else rows(text, "{name}")

    assert str(bad).startswith(said)
    assert str(bad).endswith("; from here on nothing was read")


def test_a_file_whose_values_stand_between_semicolons_is_told_to_take_commas() -> None:
    with pytest.raises(WrongValue, match="the file's columns are name;text: separate values by commas"):
        rows(b"name;text\na;b\n", "{name}")


# --- files


@pytest.mark.parametrize("cut", [0, 5])
def test_a_compressed_file_is_unpacked_and_one_that_is_cut_off_is_said_to_be(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "jobs.jsonl.gz"
    packed = gzip.compress(GOOD)
    file.write_bytes(packed[: len(packed) - cut])
    if cut:
        with pytest.raises(WrongValue, match="the file can't be unpacked"), open_batch(file) as opened:
            list(read_jsonl(opened, agent="worker"))
    else:
        with open_batch(file) as opened:
            assert len(list(read_jsonl(opened, agent="worker"))) == 1


def test_a_file_that_is_not_there_is_a_wrong_value(tmp_path: Path) -> None:
    with pytest.raises(WrongValue, match="can't be read: No such file or directory"):
        open_batch(tmp_path / "nothing.jsonl")


def test_good_lines_can_be_read_as_often_as_is_needed_and_of_the_bad_ones_a_thousand_are_kept() -> None:
    text = b"".join(b'{"custom_id": "%d", "input": "go"}\n' % n for n in range(3)) + b"x\n" * 1500
    with checked(read_jsonl(io.BytesIO(text), agent="worker")) as found:
        twice = [line.custom_id for _ in range(2) for line in found.lines()]

    assert twice == ["0", "1", "2", "0", "1", "2"]
    assert (found.good, found.bad_count, len(found.bad)) == (3, 1500, 1000)


def test_the_print_of_a_batch_is_that_of_its_lines_and_options_and_not_of_who_sends_it(tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    prints = set()
    for text, order in (
        (GOOD, BatchOrder(agent="worker", by="ann")),
        (b"  " + GOOD + b"\n\n", BatchOrder(agent="worker", by="bob")),
        (GOOD, BatchOrder(agent="worker", model="m")),
        (b'{"custom_id": "a", "input": "stop"}', BatchOrder(agent="worker")),
    ):
        file.write_bytes(text)
        with reading(file, agent="worker") as found:
            prints.add(found.digest(order))

    assert len(prints) == 3


def test_a_full_disk_is_told_with_the_folder_that_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    lines = read_jsonl(io.BytesIO(GOOD), agent="worker")
    told = r"can't be written \(No space left on device\); make room there"
    with pytest.raises(WrongValue, match=told), checked(lines):
        pass
