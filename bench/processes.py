"""Programs beside this one, and what a process takes: time and memory, from /proc where there is one, else by `ps`."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def a_process(line: list[str], log: Path, **environment: str) -> Iterator[int]:
    """The process id of a program that runs inside the block."""
    with log.open("wb") as file:
        process = subprocess.Popen(line, env={**os.environ, **environment}, stdout=file, stderr=file)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
