"""Where a job's time and money went, as the numbers of a drawing: one column a round, for seconds and for dollars.

The drawing is made in templates/picture.html of plain SVG attributes, since the pages allow no inline style.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.console import words
from surefoot.console.timeline import Round

WIDTH, HEIGHT = 640.0, 96.0
WIDEST = 28.0
GAP = 0.25


@dataclass(frozen=True)
class Bar:
    """A rectangle of a column. `kind` is its class: model, tool or cost; `title` says it in words."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Panel:
    """One drawing: its bars, the highest column in words, and the sums for its legend."""

    name: str
    bars: Sequence[Bar]
    top: str
    legend: Sequence[tuple[str, str]]


def picture(rounds: Sequence[Round]) -> list[Panel]:
    """Panels for time and money; none where nothing was measured."""
    return [panel for panel in (_time(rounds), _money(rounds)) if panel.bars]


def _time(rounds: Sequence[Round]) -> Panel:
    columns = [
        [("model", each.model_seconds, f"round {each.number}: model {words.span(each.model_seconds)}"),
         ("tool", each.tool_seconds, f"round {each.number}: tools {words.span(each.tool_seconds)}")]
        for each in rounds
    ]  # fmt: skip
    legend = [
        ("model", words.span(sum(each.model_seconds for each in rounds))),
        ("tool", words.span(sum(each.tool_seconds for each in rounds))),
        ("wait", words.span(sum(each.waited for each in rounds))),
    ]
    bars, top = _bars(columns)
    return Panel("Time", bars, words.span(top), legend)


def _money(rounds: Sequence[Round]) -> Panel:
    columns = [
        [("cost", cost, f"round {each.number}: {words.money(cost)}, {words.amount(each.turn.usage.tokens)} tokens")]
        for each in rounds
        for cost in [each.turn.usage.cost_usd]
    ]
    bars, top = _bars(columns)
    spent = sum(each.turn.usage.cost_usd for each in rounds)
    return Panel("Money", bars, words.money(top), [("cost", words.money(spent))])


def _bars(columns: Sequence[Sequence[tuple[str, float, str]]]) -> tuple[list[Bar], float]:
    """Columns side by side, each stacked from the ground up, the highest as high as the drawing."""
    top = max((sum(size for _, size, _ in column) for column in columns), default=0.0)
    if top <= 0:
        return [], 0.0
    step = min(WIDEST, WIDTH / len(columns))
    bars: list[Bar] = []
    for place, column in enumerate(columns):
        ground = HEIGHT
        for kind, size, title in column:
            height = HEIGHT * size / top
            ground -= height
            if height > 0:
                bars.append(
                    Bar(kind, _round(place * step), _round(ground), _round(step * (1 - GAP)), _round(height), title)
                )
    return bars, top


def _round(value: float) -> float:
    return round(value, 2)
