"""Processor time and memory of a process, from the system's own books: /proc where there is one, `ps` elsewhere."""

import os
import resource
import subprocess
import sys
from pathlib import Path


def own_seconds() -> float:
    """Processor time of this process so far, threads included."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def seconds_of(process: int) -> float:
    """Processor time of another process so far."""
    stat = Path(f"/proc/{process}/stat")
    if stat.exists():
        fields = stat.read_text().rpartition(")")[2].split()  # the name before may hold spaces
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    shown = subprocess.run(["ps", "-o", "time=", "-p", str(process)], capture_output=True, text=True, check=True)
    seconds = 0.0
    for part in shown.stdout.strip().replace("-", ":").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def own_peak_bytes() -> int:
    """The most memory that this process held at once."""
    status = Path("/proc/self/status")
    if status.exists():  # its peak begins with this program; that of getrusage with the process it was started from
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_of(process: int) -> int:
    """The memory, in bytes, that another process holds now."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(shown.stdout) * 1024
