# One word per habit. PYTHON may name another interpreter (3.11 to 3.13).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA := .data
STAMP := $(VENV)/.installed

.PHONY: help run test check format bench bench-long soak eval clean browser drawing

help:
	@echo "make run     set up, ingest the sample on the first run, serve the chat at http://127.0.0.1:7860"
	@echo "make test    set up and run every test, browser tests included"
	@echo "make check   lint, types"
	@echo "make bench   measure speed and quality; bench-long for the long ones"
	@echo "make eval    evaluate on the sample questions"
	@echo "make drawing draw the state machine into ARCHITECTURE.md"
	@echo "make soak    the long kill, load and fuzz runs"

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"graph-agent needs Python 3.11 to 3.13, and $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install your distribution's python3-venv package."; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

run: $(STAMP)
	@$(BIN)/graph-agent --data $(DATA) ui --sample evals/sets/sample/corpus

browser:
	@sh .ci/browser

test: $(STAMP) browser
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder || { \
	  echo "Once more and alone, what failed beside others (a busy machine is late):"; \
	  $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none; }

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m graph_agent.evals.bench

bench-long: $(STAMP)
	$(BIN)/python -m graph_agent.evals.bench --long

soak: $(STAMP)
	GRAPH_AGENT_SOAK=1 $(BIN)/python -m pytest -q -m soak

drawing: $(STAMP)
	$(BIN)/python -m graph_agent.agent.drawing ARCHITECTURE.md

eval: $(STAMP)
	$(BIN)/graph-agent --data $(DATA) eval run evals/sets/sample

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
