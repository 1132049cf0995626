"""Jobs and the inbox over HTTP: `app.create_app` makes the application, `serving` runs it.

Whoever adds a route says what it `needs` (`access.py`), or a test fails.
"""
