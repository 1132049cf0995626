"""Rates of providers: as users write them, what a worker sees of a provider, and telling the server."""
