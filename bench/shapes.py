"""What is run: so many jobs at once, each of so many rounds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A round is one model call that asks for one tool, and that tool; a bare workflow's is two activities."""

    jobs: int
    rounds: int

    @property
    def all_rounds(self) -> int:
        return self.jobs * self.rounds

    def __str__(self) -> str:
        return f"{self.jobs} × {self.rounds:,}"


MANY = Shape(50, 10)
SHAPES = (Shape(1, 20), Shape(1, 100), Shape(1, 300), Shape(1, 1000), MANY)
QUICK = (Shape(1, 20), Shape(1, 100), MANY)
