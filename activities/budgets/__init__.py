"""Budgets of tenants: as users write them, and what of them is spent."""
