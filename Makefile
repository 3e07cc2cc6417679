# Two commands for everybody: `make demo` and `make test`. `make help` lists the rest.
# Each does all its own set-up; what it fetches and builds is kept in $SCHEDKIT_CACHE.

CACHE := $(or $(SCHEDKIT_CACHE),$(HOME)/.cache/schedkit-lab)
STATIC := x86_64-unknown-linux-musl
LAB := cargo run --quiet --package lab --
E2E := --test errors --test control_plane --test signatures --test endings
# Debian's own, and what is built from its Go modules.
CONTAINERD := debian 1.7 2
ALL_SCHEDULERS := --scheduler scx_lab --scheduler scx_bpfland

# The image of sked: what docker-build makes, and deploy and build-installer name.
IMG ?= controller:latest
CONTAINER_TOOL ?= podman
KUBECTL ?= kubectl
# Found, or built once, when a rule needs it.
KUSTOMIZE = $(shell $(LAB) tool kustomize)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long bench prepare lint unit fuzz e2e deny mutants static man manifests bootstrap \
	install uninstall deploy undeploy run build docker-build build-installer test-e2e

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: static ## Boot a node, run schedulers on it with sked and with schedctl, show what the kernel says
	@$(LAB) tool kustomize >/dev/null
	cargo build --quiet --package lab --bin lab --example demo
	cargo run --quiet --package lab --example demo

test: prepare lint unit fuzz e2e ## Everything that must be green before a change lands

test-long: prepare deny mutants ## The slow courses: kernel series, every fault and every moment to be killed, licences, checks removed one by one, fuzzing
	cargo test --package lab --features long --test kernels -- --nocapture
	cargo test --package schedkit-runtime --features long --test containerd five_gigabytes
	lab/on-emulated-nodes cargo test --package schedctl --features long --test machine -- --test-threads=1 --nocapture
	cargo test --package sked --features long --test faults -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package sked --features long --test two_kernels -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package sked --features long --test kernel_truth -- --nocapture
	lab/on-emulated-nodes cargo test --package sked --features long --test monitored -- --test-threads=1 --nocapture
	fuzz/run 300

bench: prepare static ## The measurements; PEER= names another operator for the second column
	SKED=$(CURDIR)/target/$(STATIC)/release/sked cargo test --package sked --no-fail-fast --bench manager --bench crowd --bench agents --bench rest
	SKED=$(CURDIR)/target/$(STATIC)/release/sked lab/on-emulated-nodes cargo test --package sked --bench kernel
	SCHEDCTL=$(CURDIR)/target/$(STATIC)/release/schedctl cargo test --package schedctl --no-fail-fast --bench verify --bench status --bench machine
	cargo build --release --package lab --bin lab
	cargo bench --package lab

# One after the other: built together they would share features that neither has by itself.
static: build ## The programs as they are released: static, optimised, in target/
	cargo build --release --locked --target $(STATIC) --package schedctl

man: ## schedctl's man pages and shell completions, into dist/man
	cargo run --quiet --package xtask --features man -- man dist/man

manifests: ## What config/ and docs/ derive from sked's types
	cargo run --quiet --package xtask --features manifests -- manifests

build: bootstrap ## sked as it is released: static, optimised, in target/
	cargo build --release --locked --target $(STATIC) --package sked

run: ## The manager on this machine, for the cluster of the current kubeconfig
	cargo run --package sked -- manager --log-format=text

docker-build: build ## The image IMG, FROM scratch
	mkdir -p dist/image
	cp "$${CARGO_TARGET_DIR:-target}/$(STATIC)/release/sked" dist/image/sked
	cp /etc/ssl/certs/ca-certificates.crt dist/image/
	$(CONTAINER_TOOL) build --tag "$(IMG)" --file Containerfile dist/image

# What deploy applies, with the image in place: an overlay outside of what is kept in the tree.
build-installer: ## dist/install.yaml: everything in one file, with the image IMG
	rm -rf dist/deploy && mkdir -p dist/deploy
	cd dist/deploy && "$(KUSTOMIZE)" create --resources ../../config/default && "$(KUSTOMIZE)" edit set image "controller=$(IMG)"
	"$(KUSTOMIZE)" build dist/deploy > dist/install.yaml

install: ## The CRD, into the cluster of the current kubeconfig
	$(KUBECTL) apply -k config/crd

uninstall: ## The CRD, and with it every SchedExt, out of the cluster
	$(KUBECTL) delete --ignore-not-found -k config/crd

deploy: build-installer ## Everything, with the image IMG, into the cluster
	$(KUBECTL) apply -f dist/install.yaml

# Nobody is left to take the labels off, so it is done here.
undeploy: build-installer ## Everything out of the cluster: schedulers, SchedExts, sked, labels of nodes
	$(KUBECTL) delete --ignore-not-found -f dist/install.yaml
	$(KUBECTL) label nodes --selector=sked.schedkit.io/owner sked.schedkit.io/owner-

bootstrap:
	@lab/bootstrap

prepare: bootstrap
	$(LAB) prepare --nodes 2 $(ALL_SCHEDULERS) --crowd --signing
	$(LAB) tool kustomize
	$(LAB) tool helm
	$(LAB) tool prometheus

lint: ## Format, clippy, rustdoc, layers
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	fuzz/build clippy
	cargo run --quiet --package xtask -- tidy

unit: ## Tests that need no root, no lab and no network
	cargo test --workspace --features xtask/manifests --locked

fuzz: ## A short run of every fuzz target; the long one is part of test-long
	FUZZ_SEED=1 fuzz/run 10

# SHARD=3/16 runs one shard; without it all run, one after the other. The patches need the lab.
SHARDS := 16
MUTANTS := CARGO_PROFILE_DEV_DEBUG=none CARGO_TARGET_DIR=$(CACHE)/mutants-target $(CACHE)/cargo-mutants/bin/cargo-mutants mutants

mutants: prepare $(CACHE)/cargo-mutants/bin/cargo-mutants ## Change the verifier in one place at a time: a test must fail each time
	for shard in $(or $(SHARD),$(shell seq -f '%g/$(SHARDS)' 0 $$(($(SHARDS) - 1)))); do $(MUTANTS) --shard $$shard --output target/mutants/$${shard%/*} || exit 1; done
	cargo run --quiet --package xtask -- mutants

$(CACHE)/cargo-mutants/bin/cargo-mutants:
	cargo install --locked --root $(CACHE)/cargo-mutants cargo-mutants

# One file after the other and one test after the other: they share two cores.
e2e: prepare test-e2e ## Tests on a real control plane, a virtual machine and a cluster of two
	cargo test --package schedctl --features e2e --locked --bin schedctl enable
	cargo test --package schedctl --features e2e --locked --test trust -- --test-threads=1
	cargo test --package schedkit-runtime --features e2e --locked --test podman -- --test-threads=1
	for edition in $(CONTAINERD); do SCHEDKIT_CONTAINERD=$$edition cargo test --package schedkit-runtime --features e2e --locked --test containerd -- --test-threads=1 || exit 1; done
	cargo test --package sked-api --features e2e --locked --test admission -- --test-threads=1
	cargo test --package lab --features e2e --locked --no-fail-fast $(E2E) -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package lab --features e2e --locked --test machine -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package schedctl --features e2e --locked --test machine -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package schedctl --features e2e --locked --test node -- --test-threads=1 --nocapture
	lab/on-emulated-nodes cargo test --package lab --features e2e --locked --test cluster -- --test-threads=1 --nocapture

test-e2e: prepare ## sked on a real control plane and in a virtual machine with its own kernel
	cargo build --quiet --locked --package lab
	cargo test --package sked --features e2e --locked --no-fail-fast --test control_plane --test reports --test trouble --test election --test metrics --test agent --test alerts --test install -- --test-threads=1
	lab/on-emulated-nodes cargo test --package sked --features e2e --locked --test deployed -- --test-threads=1 --nocapture

deny: $(CACHE)/cargo-deny/bin/cargo-deny ## Licences, sources and bans of the dependencies
	$< --all-features check bans licenses sources

$(CACHE)/cargo-deny/bin/cargo-deny:
	cargo install --locked --root $(CACHE)/cargo-deny cargo-deny
