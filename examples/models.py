"""Which model the examples use: a real one when its key is set, else a script that needs no key.

`--model` on the command line goes before both.
"""

import os

from surefoot import Script


def model(script: str | Script) -> str | Script:
    """The model of an example; `script` is a file in scripts/, next to the app file, or a script written in Python."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        return "anthropic:claude-sonnet-4-6"
    if os.environ.get("OPENAI_API_KEY"):
        return "openai:gpt-5"
    return f"scripted:scripts/{script}" if isinstance(script, str) else script
