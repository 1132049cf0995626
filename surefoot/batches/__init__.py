"""Batches from Python: submit a file of jobs, see how they stand, change how they run, read what became of them."""
