"""Model requests of many jobs on their way into provider batches, and their answers on the way back."""
