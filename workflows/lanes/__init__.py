"""The half-price lane: collecting requests, one provider batch, a job's side of it, and what enters their histories."""
