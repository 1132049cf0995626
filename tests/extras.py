"""Packages that Surefoot can do without: what needs one is skipped where it is missing, except under CI=true."""

import importlib.util
import os

import pytest

HAS_GOOGLE = os.environ.get("CI") == "true" or importlib.util.find_spec("google.genai") is not None
NO_GOOGLE = "google-genai is not installed: pip install -e '.[dev]'"

needs_google = pytest.mark.skipif(not HAS_GOOGLE, reason=NO_GOOGLE)
