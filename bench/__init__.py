"""How fast Surefoot is and how much it records, beside a bare workflow (`bench`) and other agents (`bench.peers`).

`bench.systems` and what it imports of this package run in the peers' environment too, where Surefoot is not installed:
only `systems.surefoot` and `server` may import our own packages.
"""
