"""Local servers in place of model APIs, for tests and for examples that run without a key."""
