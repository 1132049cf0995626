"""Which jobs go before others, as people say it: a priority, and a tenant's weight beside other tenants."""

from surefoot.errors import WrongValue

LIGHTEST, HEAVIEST = 0.001, 1000.0


def checked_priority(priority: int | None, weight: float | None) -> None:
    """Raises `WrongValue` for what Temporal would not take."""
    if priority is not None and priority not in range(1, 6):
        raise WrongValue(f"priority {priority} does not exist: 1 goes before all others, 5 behind them, 3 is usual")
    if weight is not None and not LIGHTEST <= weight <= HEAVIEST:
        raise WrongValue(f"a weight of {weight} is out of range: give {LIGHTEST} to {HEAVIEST:g}; 1 is usual")
