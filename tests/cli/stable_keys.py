"""The keys of `--json` that programs rely on: documents may get more of them, and lose none."""

JOB = {
    "status", "answer", "output", "findings", "requires_human", "summary", "not_done", "citations", "usage", "error",
    "job", "agent", "state", "rounds", "tool_calls", "pending", "decided", "history_events", "history_bytes",
    "tenant", "tags", "parent", "root", "lent", "children",
}  # fmt: skip

ROW = {
    "job", "agent", "state", "status", "started_at", "ended_at", "problem", "tenant", "tags", "parent", "root", "queue",
}  # fmt: skip

CALL = {
    "job", "call", "kind", "agent", "tool", "arguments", "digest", "preview", "why", "asked_at", "expires_at",
    "allowed", "problem", "approvers", "quorum", "approved_by", "escalated", "risk", "tenant", "parent", "root",
}  # fmt: skip
