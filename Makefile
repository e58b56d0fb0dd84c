# Every target first makes or mends .venv, so each works as the first command on a fresh machine.
# Another Python than python3: PYTHON=python3.12 make setup

PYTHON ?= python3
# Named by the caller: .venv is then made anew if it was made with another one.
CHOSEN := $(if $(filter file,$(origin PYTHON)),,--chosen)
BIN := .venv/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup lab test run test-ci test-all site pictures lock

help:
	@echo "make lab       learn: JupyterLab opens on the start page"
	@echo "make test      prove: every test"
	@echo "make run       regenerate: the stored outputs of solutions/, by running them"
	@echo "make test-ci   make test, then every wrong answer through the check itself: what CI runs"
	@echo "make test-all  make test, then run everything anew and the slow tests"
	@echo "make site      publish: the solved labs as pages, in .labbook/site/"
	@echo "make pictures  README's pictures, taken anew in Chromium"
	@echo "make setup     only make .venv"
	@echo "make lock      pin the newest versions that the two requirements.in allow"

setup:
	@$(PYTHON) ci/checkout/setup.py $(CHOSEN)

lab: setup
	@$(BIN)/python -m helpers.cli lab

test: setup
	@$(BIN)/python -m ci.checkout.test

run: setup
	@$(BIN)/python -m helpers.cli run

test-ci: setup
	@$(BIN)/python -m ci.checkout.test --ci

test-all: setup
	@$(BIN)/python -m ci.checkout.test --all

site: setup
	@$(BIN)/python -m ci.site

pictures: setup
	@$(BIN)/python -m tests.browser.pictures

PIN := $(BIN)/uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --no-header --quiet

lock: setup
	$(PIN) requirements.in -o requirements.lock
	$(PIN) ci/site/requirements.in -o ci/site/requirements.lock
