"""Named queues: as users write them, and how jobs enter one and hold its places."""
