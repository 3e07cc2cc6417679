# Two commands for everybody: `make demo` and `make test`. `make help` lists the rest.
# Each does all its own set-up; what it fetches and builds is kept in $SCHEDKIT_CACHE.

CACHE := $(or $(SCHEDKIT_CACHE),$(HOME)/.cache/schedkit-lab)
STATIC := x86_64-unknown-linux-musl
# Everything is built for the target that is released: one build serves unit tests, suites, nodes
# and sked's image.
export CARGO_BUILD_TARGET := $(STATIC)
TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
RELEASED := $(TARGET_DIR)/$(STATIC)/release
XTASK := cargo run --quiet --locked --package xtask --
LAB := cargo run --quiet --locked --package lab --
# Versions of containerd besides Debian's, which the gate has.
CONTAINERD := 1.7 2

# The image of sked: what docker-build makes, and deploy and build-installer name.
IMG ?= controller:latest
CONTAINER_TOOL ?= podman
KUBECTL ?= kubectl

.DEFAULT_GOAL := help
.PHONY: help demo test test-long bench prepare prepare-long lint unit fuzz model e2e deny mutants static man manifests \
	bootstrap install uninstall deploy undeploy run build docker-build build-installer test-e2e

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: bootstrap ## Boot a node, run schedulers on it with sked and with schedctl, show what the kernel reports
	@lab/demo

test: bootstrap ## Everything that must be green before a change lands
	@$(XTASK) test

e2e: bootstrap ## The suites that need a lab; T=NAME runs one suite or the tests of that name
	@$(XTASK) e2e $(T)

test-e2e: e2e

lint: bootstrap ## Format, clippy, rustdoc, and `xtask tidy`: which crate and file may use which
	@$(XTASK) lint

unit: bootstrap ## Tests that need no root, no lab and no network
	@$(XTASK) unit

fuzz: bootstrap ## A short run of every fuzz target; the long one is part of test-long
	FUZZ_SEED=1 fuzz/run 10

model: bootstrap ## Every state of small roll-outs with faults, far beyond the bounds of `make unit`, and random walks
	SCHEDKIT_MODEL=long cargo test --locked --package sked-plan --test properties model:: -- --nocapture --test-threads=1 --include-ignored

test-long: prepare-long $(if $(T),,deny model mutants) ## What takes too long for every change: kernel series, faults, real schedulers, cosign, licences and advisories, mutants, fuzzing; T=NAME runs one suite
	@$(XTASK) long $(T)
	[ -n "$(T)" ] || SCHEDKIT_SEED=random cargo test --locked --package sked-plan --test properties explored
	[ -n "$(T)" ] || for version in $(CONTAINERD); do SCHEDKIT_CONTAINERD=$$version $(XTASK) e2e containerd:: || exit 1; done
	[ -n "$(T)" ] || fuzz/build clippy
	[ -n "$(T)" ] || fuzz/run 300

bench: prepare-long static ## The measurements; PEER= names another operator for the second column
	SKED=$(RELEASED)/sked SCHEDCTL=$(RELEASED)/schedctl lab/on-emulated-nodes cargo test --package e2e --no-fail-fast --benches
	cargo build --release --package lab --bin lab
	cargo bench --package lab

# One after the other: built together they would share features that neither has by itself.
static: build ## The programs as they are released: static, optimised, in target/
	cargo build --release --locked --package schedctl
	cargo build --release --locked --package kubectl-sx

man: ## Man pages of schedctl and kubectl-sx, schedctl's shell completions, into dist/man
	cargo run --quiet --package xtask --features man -- man dist/man

manifests: ## What config/ and docs/ derive from sked's types
	cargo run --quiet --package xtask --features manifests -- manifests

build: bootstrap ## sked as it is released: static, optimised, in target/
	cargo build --release --locked --package sked

run: ## The manager on this machine, for the cluster of the current kubeconfig
	cargo run --package sked -- manager --log-format=text

docker-build: build ## The image IMG, FROM scratch
	mkdir -p dist/image
	cp "$(RELEASED)/sked" dist/image/sked
	cp /etc/ssl/certs/ca-certificates.crt dist/image/
	$(CONTAINER_TOOL) build --tag "$(IMG)" --file Containerfile dist/image

# What deploy applies, with the image in place: an overlay outside of what is kept in the tree.
# kubectl brings kustomize along.
build-installer: ## dist/install.yaml: everything in one file, with the image IMG
	@rm -rf dist/deploy && mkdir -p dist/deploy
	@config/overlay-for-image "$(IMG)" > dist/deploy/kustomization.yaml
	$(KUBECTL) kustomize dist/deploy > dist/install.yaml

install: ## The CRD, into the cluster of the current kubeconfig
	$(KUBECTL) apply -k config/crd

uninstall: ## The CRD, and with it every SchedExt, out of the cluster
	$(KUBECTL) delete --ignore-not-found -k config/crd

deploy: build-installer ## Everything, with the image IMG, into the cluster
	$(KUBECTL) apply -f dist/install.yaml

# No manager is left to remove the labels, so it is done here.
undeploy: build-installer ## Everything out of the cluster: schedulers, SchedExts, sked, labels of nodes
	$(KUBECTL) delete --ignore-not-found -f dist/install.yaml
	$(KUBECTL) label nodes --selector=sked.schedkit.io/owner sked.schedkit.io/owner-

bootstrap:
	@lab/bootstrap

prepare: bootstrap ## What the gate's labs are put together from
	$(LAB) prepare --nodes 2 --kwok --signing sigstore
	$(LAB) tool helm
	$(LAB) tool prometheus

prepare-long: prepare
	$(LAB) prepare --nodes 2 --scheduler scx_lab --scheduler scx_bpfland --scheduler scx_lavd --scheduler scx_rusty --arm64 --kwok --signing cosign

# SHARD=3/16 runs one shard; without it all run, one after the other. The patches need the lab.
SHARDS := 16
MUTANTS := CARGO_PROFILE_DEV_DEBUG=none CARGO_TARGET_DIR=$(CACHE)/mutants-target $(CACHE)/cargo-mutants/bin/cargo-mutants mutants

mutants: prepare-long $(CACHE)/cargo-mutants/bin/cargo-mutants ## Change the verifier in one place at a time: a test must fail each time
	for shard in $(or $(SHARD),$(shell seq -f '%g/$(SHARDS)' 0 $$(($(SHARDS) - 1)))); do $(MUTANTS) --shard $$shard --output target/mutants/$${shard%/*} || exit 1; done
	cargo run --quiet --package xtask -- mutants

$(CACHE)/cargo-mutants/bin/cargo-mutants:
	cargo install --locked --root $(CACHE)/cargo-mutants cargo-mutants

# The database is a git repository of its own. Whatever keeps it from being fetched is said, last.
deny: $(CACHE)/cargo-deny/bin/cargo-deny ## Licences, sources, bans and known vulnerabilities of the dependencies
	$< --all-features check bans licenses sources
	if timeout 300 $< fetch db; then $< --all-features check advisories; \
	else echo "advisories: not asked, because https://github.com/rustsec/advisory-db cannot be fetched"; fi

$(CACHE)/cargo-deny/bin/cargo-deny:
	cargo install --locked --root $(CACHE)/cargo-deny cargo-deny
