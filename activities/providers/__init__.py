"""One adapter per model API, named after the API. `protocol.py` says what an adapter is."""
