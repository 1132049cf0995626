"""Named queues: the queue, a job's side of it, and what enters their histories."""
