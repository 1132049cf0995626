"""What the model is told, put together of foreign texts."""

import pytest

from workflows.words import EDITED_CHARS, denied, denied_by_policy, with_edit, without_edit


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (None, "."),
        (" \n", "."),
        ("no", ": no."),
        ("no\n", ": no."),
        ("No. ", ": No."),
        ("why?", ": why?"),
        ("wait…", ": wait…"),
        ("one\ntwo", ": one\ntwo."),
    ],
)
def test_a_reason_is_one_sentence_however_it_ends(reason: str | None, told: str) -> None:
    assert denied("ann", reason) == (
        f"Denied by ann{told} The call was not executed; do not make it again with the same arguments."
    )
    assert denied_by_policy(reason or "") == f"Denied by policy{told} The call was not executed."


@pytest.mark.parametrize("arguments", ['{"to":"bob"}', '{"text":"' + "]\\n" * 500 + '"}'])
def test_the_note_about_an_edit_is_one_bounded_line_before_the_tools_own_words(arguments: str) -> None:
    told = with_edit(arguments, "paid\nto bob")
    note, _, own = told.partition("\n")

    assert arguments[:EDITED_CHARS] in note
    assert len(note) < EDITED_CHARS + 100
    assert own == without_edit(told) == without_edit(own) == "paid\nto bob"
