"""Rates of providers: the keeper of one, how fast a provider is asked, and what enters its history."""
