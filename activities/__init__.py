"""What may fail, repeat or change: providers, tools, storage.

Code below this folder runs in activities: it is retried, may run twice after a crash, and can
change between deploys without breaking a running job, as long as `workflows/contracts/` holds.
"""
