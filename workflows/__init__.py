"""What decides, and is replayed: contracts, the loop, limits, the gate.

Everything below this folder runs inside Temporal's workflow sandbox and must give the same
commands for the same history: no I/O, no clock but `workflow.now()`, no provider SDK. A change
here can break jobs that are running; CONTRIBUTING.md says how such a change is made.
"""
