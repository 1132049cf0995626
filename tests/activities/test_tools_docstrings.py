"""Descriptions from docstrings: parameters in three layouts are taken out, every other word stays."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.docstrings import parse

GOOGLE = """Send a mail.

    It goes out at once.

    Args:
        to (str): Who gets it: one address.
        text: What it says,
            over several lines.

            And paragraphs.
        urgent (bool, optional): If it can't wait. Defaults to False.
        callback (Callable[[int], str]): A type with brackets.
        *names: More.
        **rest: Even more.

    Returns:
        The id of the mail.

    Raises:
        ValueError: For a bad address.
    """

NUMPY = """Send a mail.

    It goes out at once.

    Parameters
    ----------
    to : str
        Who gets it: one address.
    text
        What it says,
        over several lines.

        And paragraphs.
    urgent, fast : bool, optional
        If it can't wait.
    *names
        More.

    Returns
    -------
    str
        The id of the mail.
    """

SPHINX = """Send a mail.

    It goes out at once.

    :param to: Who gets it: one address.
    :type to: str
    :param str text: What it says,
        over several lines.
    :param dict[str, int] urgent: If it can't wait.
    :returns: The id of the mail.
    :raises ValueError: For a bad address.
    """


def test_google_style() -> None:
    found = parse(GOOGLE)

    assert found.parameters == {
        "to": "Who gets it: one address.",
        "text": "What it says, over several lines. And paragraphs.",
        "urgent": "If it can't wait. Defaults to False.",
        "callback": "A type with brackets.",
        "names": "More.",
        "rest": "Even more.",
    }
    assert found.description == (
        "Send a mail.\n\nIt goes out at once.\n\nReturns:\n    The id of the mail.\n\n"
        "Raises:\n    ValueError: For a bad address."
    )


def test_numpy_style() -> None:
    found = parse(NUMPY)

    assert found.parameters == {
        "to": "Who gets it: one address.",
        "text": "What it says, over several lines. And paragraphs.",
        "urgent": "If it can't wait.",
        "fast": "If it can't wait.",
        "names": "More.",
    }
    assert found.description == (
        "Send a mail.\n\nIt goes out at once.\n\nReturns\n-------\nstr\n    The id of the mail."
    )


def test_sphinx_style() -> None:
    found = parse(SPHINX)

    assert found.parameters == {
        "to": "Who gets it: one address.",
        "text": "What it says, over several lines.",
        "urgent": "If it can't wait.",
    }
    assert found.description == (
        "Send a mail.\n\nIt goes out at once.\n\n:returns: The id of the mail.\n:raises ValueError: For a bad address."
    )


@pytest.mark.parametrize("heading", ["Args:", "Arguments:", "Parameters:", "Params:", "Keyword Args:", "args:"])
def test_each_heading_of_google_style(heading: str) -> None:
    found = parse(f"Do.\n\n{heading}\n    x: The x.")

    assert (found.description, found.parameters) == ("Do.", {"x": "The x."})


def test_a_docstring_may_begin_with_its_arguments() -> None:
    found = parse(
        """Args:
        x: The x.
        y: The y.
    """
    )

    assert (found.description, found.parameters) == ("", {"x": "The x.", "y": "The y."})


def test_sections_may_stand_in_any_order_and_mix() -> None:
    found = parse(
        """Do.

        Example:

        .. code::

            do(1)

        Args:
            x: The x.

        More text.

        :param y: The y.
        """
    )

    assert found.parameters == {"x": "The x.", "y": "The y."}
    assert found.description == "Do.\n\nExample:\n\n.. code::\n\n    do(1)\n\nMore text."


def test_a_note_that_looks_like_an_entry_stays_in_the_description() -> None:
    found = parse("Do.\n\nNote: x is a number.\nWarning:\n    y: is none.")

    assert found.description == "Do.\n\nNote: x is a number.\nWarning:\n    y: is none."
    assert found.parameters == {}


def test_a_heading_without_entries_is_prose() -> None:
    text = "Do.\n\nParameters:\n\nThey are explained elsewhere."

    assert parse(text).description == text


def test_an_entry_without_text_has_no_description() -> None:
    assert parse("Do.\n\nArgs:\n    x (int):\n    y: The y.").parameters == {"y": "The y."}


def test_an_entry_may_begin_on_the_next_line() -> None:
    assert parse("Do.\n\nArgs:\n    x (int):\n        The x.").parameters == {"x": "The x."}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_nothing_is_nothing(text: str | None) -> None:
    found = parse(text)

    assert (found.description, found.parameters) == ("", {})


@given(st.text(alphabet="Args:ParmetNo -\n\t*()`x", max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    assert isinstance(parse(text).description, str)


@given(st.lists(st.sampled_from(["Send a mail.", "", "    indented", "Two: words.", "- a list"]), max_size=8))
def test_a_docstring_without_parameters_stays_word_for_word(lines: list[str]) -> None:
    text = "\n".join(lines)

    assert parse(text).description.split() == inspect.cleandoc(text).split()
