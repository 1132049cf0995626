# Everything a newcomer or CI needs; README and CI use these targets word for word.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := .ci/constraints.txt
OPINIONS := .venv-opinions
INSTALLED := $(VENV)/.installed

.PHONY: demo test check second-opinions bench bench-peers bench-batches bench-gate bench-lane histories format clean

$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Surefoot needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## a job's whole life, without a key
	@$(BIN)/surefoot demo

# Server tests wait more than they work: four at a time, each process with a server of its own, suit two cores. Without
# a workflow cache the SDK's core now and then loses a task (docs/decisions.md), and a busy machine may miss a heartbeat.
# A test that failed is therefore run once more, alone, and named: what is broken fails again.
# Only failed tests (1) have a second run: any other exit code means that some tests never ran.
test: check ## everything
	$(BIN)/pytest tests -m "(server or crash) and not second_opinion" -n 4 --dist worksteal --cache-clear || { \
	  test $$? -eq 1 || exit 1; \
	  echo "once more, one at a time, those that failed:"; \
	  $(BIN)/pytest tests -m "(server or crash) and not second_opinion" --last-failed --last-failed-no-failures none -v; }

# In one process: xdist would save ten seconds of forty.
check: $(INSTALLED) ## no server: format, lint, types, tests of all that needs none
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests -m "not server and not crash"

second-opinions: $(INSTALLED) $(OPINIONS)/.installed ## the adapters against stand-ins that others wrote
	$(BIN)/pytest tests/second_opinions

# One of them runs on Node; where that is not, its tests are skipped and say so.
$(OPINIONS)/.installed: tests/second_opinions/requirements.txt tests/second_opinions/package.json
	@$(PYTHON) -m venv $(OPINIONS)
	@$(OPINIONS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@cp tests/second_opinions/package.json $(OPINIONS)
	@command -v npm >/dev/null || { echo "no npm: without aimock"; exit 0; } && \
	  npm install --prefix $(OPINIONS) --silent --no-audit --no-fund --no-package-lock
	@touch $@

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## Surefoot against a bare workflow
	$(BIN)/python -m bench

bench-peers: $(INSTALLED) ## and against other durable agents, in an environment of their own
	$(BIN)/python -m bench.peers

bench-batches: $(INSTALLED) ## a batch of ten thousand small jobs, and checking a file of 100,000 lines
	$(BIN)/python -m bench.batches

bench-gate: $(INSTALLED) ## decisions and pages with thousands of waiting jobs
	$(BIN)/python -m bench.gate

bench-lane: $(INSTALLED) ## how many provider batches jobs of three rounds take, and that no fault is paid for twice
	PYTHONPATH=examples $(BIN)/python -m bench.lane

histories: $(INSTALLED) ## record the scenarios that have no history yet
	PYTHONPATH=examples $(BIN)/python -m tests.histories.record

clean:
	rm -rf $(VENV) .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis
