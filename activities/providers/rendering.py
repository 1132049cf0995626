"""How transcript entries that are not the model's own read to a model, the same words for every API.

Changing a word here changes what running jobs send next, and so breaks a provider's prompt cache once.
"""

from workflows.contracts import Message, Note, Result

EMPTY = "(no output)"  # some servers reject empty texts
BLANK = "(empty message)"
GO_ON = "Please go on."  # where an API wants a person's word between two answers, or at the end


def message_text(message: Message) -> str:
    """A person's words as they are; most APIs reject an empty message."""
    return message.text if message.text.strip() else BLANK


def note_text(note: Note) -> str:
    """A note, marked so that the model can tell it from a person's words."""
    return f"<harness_note>\n{note.text}\n</harness_note>"


def result_text(result: Result) -> str:
    """A result as plain text, for APIs with no flag of their own for failure, and for the others too."""
    text = result.content if result.content.strip() else EMPTY
    if result.status == "error" and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return text
