"""An output in two forms: what the model reads, and the whole of it, where the two differ in more than length."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """`text` is for the model. `whole` is kept for people if it is not the same, as an output that was cut is."""

    text: str
    whole: str
