"""The benchmark is run from the repository's folder and is not installed, so its tests look for it there."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
