# make               set up the environment and run chapter 6 with all cores; STUDY=name: another study
# make test          set up the environment and run all checks
# make test-slow     the slow tests: every sampler and accountant in place of one of each, twenty
#                    kills, faults that the tests must see, and a study on Slurm
# make test-cluster  the checks on a Slurm that they start themselves, on this machine alone
# make studies       render the results in docs/ again: of all studies, or of STUDY=name; what the
#                    present settings have made is reused. RENEW="names" computes results whose
#                    source has changed: "normal-1000 */dp-hmc" (models, model/algorithm, cells)
# make check-results compute some results in docs/ anew, drawn at random, and compare every digit
# make docs          the site of docs/, of all pages and public names: results/site
# make install-release   install what a release of real data needs (docs/release.md)
# make install-cluster   install what the profiles for clusters need (docs/cluster.md)
# make bench         measure what chapter 6 costs (docs/benchmark.md); BASE=directory compares with
#                    another checkout; it takes the time of chapter 6, and needs its results
# make lock          resolve the requirements anew (envs/*.txt), for each of Pythons 3.11 to 3.13

PYTHON ?= python3
CORES ?= all
STUDY ?=
RENEW ?=
space = $(eval) $(eval)
RENEWED = "$(subst $(space),"$(comma)",$(strip $(RENEW)))"
comma = ,
RESULTS = results/chapter-6
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES)
DPMCMC = .venv/bin/python -m dpmcmc_studies
ON_SLURM = .venv/bin/python tests/cluster/cluster.py .venv/bin/pytest
FILE_OF = $(if $(filter-out chapter-6,$(1)),--configfile studies/$(1)/study.yaml)
COMMITTED = $(patsubst docs/%/provenance.json,%,$(wildcard docs/*/provenance.json))
# `make lock UPGRADE=` keeps the versions that are there, as far as they go.
UPGRADE ?= --upgrade
COMPILE = .venv/lock/bin/uv pip compile --quiet --universal --fork-strategy fewest $(UPGRADE) \
    --python-version 3.11 --generate-hashes --no-header --annotation-style line
BUILD_REQUIRES = import tomllib; \
    print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")

.PHONY: study test test-slow test-cluster studies check-results docs install-release install-cluster \
    bench lock

study: .venv/ready
	$(SNAKEMAKE) $(call FILE_OF,$(STUDY))

# As many at a time as there are cores; `.venv/bin/pytest` alone takes them one by one.
test: .venv/ready .venv/tests
	.venv/bin/pytest --numprocesses logical --maxprocesses 8 --dist load \
	    --maxschedchunk 1 --durations 60

test-slow: .venv/ready .venv/tests
	.venv/bin/pytest -m torture
	.venv/bin/pytest --capture=no --kills 20 tests/workflow/test_interruption.py
	.venv/bin/python tests/mutants.py
	$(MAKE) install-cluster
	$(ON_SLURM) --capture=no -m torture tests/cluster/check_cluster.py

test-cluster: install-cluster .venv/tests
	$(ON_SLURM) --numprocesses 3 --maxschedchunk 1 tests/cluster/check_cluster.py

studies: $(patsubst %,renew-%,$(or $(STUDY),$(COMMITTED)))

renew-%: .venv/ready
	$(SNAKEMAKE) $(call FILE_OF,$*) --config reuse=true $(if $(RENEW),'renewed=[$(RENEWED)]')
	$(DPMCMC) publish $*

check-results: .venv/ready
	$(DPMCMC) check-results $(STUDY)

docs: .venv/ready
	rm -rf .pages results/site
	cp -r docs .pages
	cp src/dpmcmc_studies/reporting/site/pages/* .pages
	.venv/bin/sphinx-build --quiet --fail-on-warning --conf-dir src/dpmcmc_studies/reporting/site \
	    --doctree-dir .pages/.doctrees .pages results/site
	rm -r .pages

install-release: .venv/ready
	.venv/bin/pip install --quiet --require-hashes --requirement envs/release.txt

install-cluster: .venv/ready
	.venv/bin/pip install --quiet --require-hashes --requirement envs/cluster.txt

bench: study
	.venv/bin/python bench/bench.py --results $(RESULTS) --output docs/benchmark.md \
	    $(if $(BASE),--base $(BASE))

.venv/ready: .venv/installed $(wildcard src/dpmcmc/kernels/*.py)
	.venv/bin/python -m compileall -q src
	.venv/bin/python -m dpmcmc.kernels.build
	touch $@

.venv/installed: envs/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13) and "Python 3.11, 3.12 or 3.13 is needed, as the locked packages are for them; $(PYTHON) is %d.%d. Name another by: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --require-hashes --requirement envs/requirements.txt
	.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/tests: .venv/installed envs/test.txt
	.venv/bin/pip install --quiet --require-hashes --requirement envs/test.txt
	touch $@

lock:
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/pip install --quiet uv
	.venv/lock/bin/python -c '$(BUILD_REQUIRES)' | $(COMPILE) --extra studies \
	    --output-file envs/requirements.txt - pyproject.toml
	$(COMPILE) --extra test --constraint envs/requirements.txt \
	    --output-file envs/test.txt pyproject.toml
	$(COMPILE) --extra release --constraint envs/requirements.txt --constraint envs/test.txt \
	    --output-file envs/release.txt pyproject.toml
	$(COMPILE) --extra cluster --constraint envs/requirements.txt --constraint envs/test.txt \
	    --output-file envs/cluster.txt pyproject.toml
