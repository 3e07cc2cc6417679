//! The text after the options: examples and exit codes.

pub(super) const AFTER: &str = "\
Examples:
  kubectl sx status -w
  kubectl sx explain node1
  kubectl sx plan -f scx-rusty.yaml

Exit codes:
  0  done
  1  it failed; the message says why and what to do
  2  wrong usage";

pub(super) const STATUS: &str = "\
Examples:
  kubectl sx status                 # all of the namespace
  kubectl sx status scx-rusty -w    # one, again whenever it changes
  kubectl sx status -A -o json";

pub(super) const ROLLOUT: &str = "\
Examples:
  kubectl sx rollout status scx-rusty --timeout 15m
  kubectl sx rollout promote scx-rusty
  kubectl sx rollout undo scx-rusty

kubectl rollout status daemonset/NAME is about pods; a pod is ready when the kernel runs its scheduler.";

pub(super) const ROLLOUT_STATUS: &str = "\
Exit codes:
  0  every node has the revision of the spec
  1  it failed, was rolled back, or --timeout has passed
  2  wrong usage";

pub(super) const REFRESH: &str = "\
With a trust policy the manager resolves a tag once and runs its digest from then on. This lets it resolve
and verify the tags of the spec again; what is accepted is rolled out. Exit code 1 if it is refused, or if
its registry cannot be read: then what runs goes on.

Examples:
  kubectl sx rollout refresh scx-rusty --timeout 2m";

pub(super) const UNDO: &str = "\
After a finished roll-out the spec gets the revision before it; while one is running, or after it was
rolled back, the last good one. Only what makes a revision is written: image, arguments, environment,
watchdog timeout, pools, node selector, affinity, tolerations.

Examples:
  kubectl sx rollout undo scx-rusty
  kubectl sx rollout undo scx-rusty --to-revision 3f1c2a9d";

pub(super) const NODES: &str = "\
Examples:
  kubectl sx nodes
  kubectl sx nodes -o json | jq -r '.nodes[] | select(.scheduler == null) | .node'";

pub(super) const EXPLAIN: &str = "\
Examples:
  kubectl sx explain node1";

pub(super) const PLAN: &str = "\
Examples:
  kubectl sx plan -f scx-rusty.yaml
  kustomize build . | kubectl sx plan -f - -o json
  kubectl sx plan -f scx-rusty.yaml --server-dry-run";

pub(super) const RELEASE: &str = "\
Examples:
  kubectl sx release node1";
