"""What agents and tools may be called: what every provider takes as the name of a tool, since an agent can be one."""

import re

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
