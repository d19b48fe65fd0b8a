# make        set up the environment and run the whole study with all cores
# make test   set up the environment and run all checks
# make quick  the small study (studies/quick.yaml)
# make docs   refresh the picture in the README from the study's results
# make lock   resolve the requirements anew (envs/requirements.txt)

PYTHON ?= python3
CORES ?= all
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES)

.PHONY: study quick test docs lock

study: .venv/ready
	$(SNAKEMAKE)

quick: .venv/ready
	$(SNAKEMAKE) --configfile studies/quick.yaml

test: .venv/ready
	.venv/bin/pytest

docs:
	mkdir -p docs
	cp results/chapter-6/figures/figure-6.3.png docs/figure-6.3.png

.venv/ready: .venv/installed src/dpmcmc/kernels.py src/dpmcmc/build_kernels.py
	.venv/bin/python -m compileall -q src
	.venv/bin/python -m dpmcmc.build_kernels
	touch $@

.venv/installed: envs/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "Python 3.11 is needed, as the locked packages are for it; name it by: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --require-hashes --requirement envs/requirements.txt
	.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lock:
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/pip install --quiet pip-tools
	.venv/lock/bin/pip-compile --quiet --upgrade --all-extras --build-deps-for editable \
	    --allow-unsafe --generate-hashes --strip-extras --no-emit-index-url --no-emit-find-links \
	    --no-emit-trusted-host --no-header --annotation-style line \
	    --output-file envs/requirements.txt pyproject.toml
