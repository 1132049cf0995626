"""Batches: the workflow that counts and begins jobs, where its lines lie, and what enters their histories."""
