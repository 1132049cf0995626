"""`python -m surefoot.embedded`: a supervisor. Started by `leasing`, not by people."""

import argparse
import os
import sys
from pathlib import Path

from surefoot.embedded import locks
from surefoot.embedded.home import Home, bound_log
from surefoot.embedded.launch import TAKEN, detach
from surefoot.embedded.supervisor import Supervisor


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m surefoot.embedded")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--idle-seconds", type=float, required=True)
    parser.add_argument("--owner", type=int, help="serve this parent process and end with it")
    parser.add_argument("--ui", action="store_true")
    options = parser.parse_args()

    home = Home(options.home)
    lock = locks.hold(home.supervisor)
    if lock is None:
        return TAKEN
    os.chdir(home.path)
    bound_log(home.log)
    supervisor = Supervisor(home, lock, owner=options.owner, ui=options.ui, idle_seconds=options.idle_seconds)
    if options.owner is None:
        detach(supervisor.announce)
    else:
        supervisor.announce(os.getpid())
    return supervisor.run()


sys.exit(main())
