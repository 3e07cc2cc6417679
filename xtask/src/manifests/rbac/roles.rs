//! The roles that sked is installed with. This list is the only place where a role gets a right: the
//! manifests and the table in `docs/security.md` are written from it, with the reasons.

use super::role::{Grant, Role, Scope, Verb};

const SKED_GROUP: &str = "sked.schedkit.io";
/// Kubernetes' own group, which has no name.
const CORE: &str = "";

/// Every role.
pub(super) const ROLES: &[Role] = &[
    Role {
        name: "sked-manager-role",
        file: "manager_role.yaml",
        scope: Scope::Cluster,
        used_by: "the manager",
        grants: &[
            Grant::of(SKED_GROUP, "schedexts", READ_SCHEDEXTS),
            Grant::of(
                SKED_GROUP,
                "schedexts/status",
                &[Verb("patch", "to say what was observed; never the spec")],
            ),
            Grant::of(
                SKED_GROUP,
                "schedexts/finalizers",
                &[Verb(
                    "update",
                    "asked for by API servers that check owner references with `blockOwnerDeletion`; sked sets no finalizer",
                )],
            ),
            Grant::of("apps", "daemonsets", DAEMONSETS),
            Grant::of(CORE, "nodes", NODES),
            Grant::of(SKED_GROUP, "schedextnodes", READ_REPORTS),
            Grant::of(CORE, "pods", PODS),
            Grant::of(
                CORE,
                "pods/status",
                &[Verb(
                    "patch",
                    "the readiness gate of a scheduler's pod; the admission policy allows no other change",
                )],
            ),
            Grant::of(CORE, "events", EVENTS),
            Grant::of("events.k8s.io", "events", NEW_EVENTS),
        ],
    },
    Role {
        name: "sked-node-agent-role",
        file: "node_agent_role.yaml",
        scope: Scope::Cluster,
        used_by: "the agents; the admission policy holds each to the report of its own node",
        grants: &[
            Grant::of(SKED_GROUP, "schedextnodes", REPORTS),
            Grant::of(
                SKED_GROUP,
                "schedextnodes/status",
                &[Verb("patch", "what the kernel says")],
            ),
        ],
    },
    Role {
        name: "sked-leader-election-role",
        file: "leader_election_role.yaml",
        scope: Scope::Namespace("sked-system"),
        used_by: "the manager",
        grants: &[
            Grant::of(
                "coordination.k8s.io",
                "leases",
                &[Verb("create", "the first manager makes the lease")],
            ),
            Grant {
                names: &["b4c95cb3.schedkit.io"],
                ..Grant::of(
                    "coordination.k8s.io",
                    "leases",
                    &[
                        Verb("get", "who leads"),
                        Verb(
                            "update",
                            "to become leader, to renew the lease, to release it",
                        ),
                    ],
                )
            },
        ],
    },
    Role {
        name: "sked-metrics-auth-role",
        file: "metrics_auth_role.yaml",
        scope: Scope::Cluster,
        used_by: "the manager",
        grants: &[
            Grant::of(
                "authentication.k8s.io",
                "tokenreviews",
                &[Verb("create", "who asks for metrics")],
            ),
            Grant::of(
                "authorization.k8s.io",
                "subjectaccessreviews",
                &[Verb("create", "whether they may have them")],
            ),
        ],
    },
    Role {
        name: "sked-metrics-reader",
        file: "metrics_reader_role.yaml",
        scope: Scope::Cluster,
        used_by: "whoever scrapes metrics; bound to nobody",
        grants: &[Grant::path("/metrics", &[Verb("get", "the metrics")])],
    },
    Role {
        name: "sked-schedext-editor-role",
        file: "schedext_editor_role.yaml",
        scope: Scope::Cluster,
        used_by: "people who choose schedulers; bound to nobody and part of no other role",
        grants: &[
            Grant::of(SKED_GROUP, "schedexts", EDIT_SCHEDEXTS),
            Grant::of(SKED_GROUP, "schedexts/status", READ_STATUS),
            Grant::of(SKED_GROUP, "schedextnodes", LOOK_AT_REPORTS),
        ],
    },
    Role {
        name: "sked-schedext-viewer-role",
        file: "schedext_viewer_role.yaml",
        scope: Scope::Cluster,
        used_by: "people who look; bound to nobody and part of no other role",
        grants: &[
            Grant::of(
                SKED_GROUP,
                "schedexts",
                &[Verb("get", LOOK), Verb("list", LOOK), Verb("watch", LOOK)],
            ),
            Grant::of(SKED_GROUP, "schedexts/status", READ_STATUS),
            Grant::of(SKED_GROUP, "schedextnodes", LOOK_AT_REPORTS),
        ],
    },
];

const LOOK: &str = "`kubectl get sx`";
const LOOK_NODES: &str = "`kubectl get sxn`";
const WRITE: &str = "`kubectl apply`, `edit`, `delete`; the admission policy asks for the right to create DaemonSets besides";

const READ_SCHEDEXTS: &[Verb] = &[
    Verb("list", "what is asked for"),
    Verb("watch", "as soon as it changes"),
];

const READ_REPORTS: &[Verb] = &[
    Verb("list", "what the nodes' kernels report"),
    Verb("watch", "as soon as a report changes"),
];

const REPORTS: &[Verb] = &[
    Verb("get", "what somebody else made under this name meanwhile"),
    Verb(
        "list",
        "what the agent before it reported, by the report's name",
    ),
    Verb("watch", "whether somebody deletes or changes it"),
    Verb("create", "a node has one, and it goes with the Node"),
    Verb("delete", "one of a Node that had this name before"),
];

const LOOK_AT_REPORTS: &[Verb] = &[
    Verb("get", LOOK_NODES),
    Verb("list", LOOK_NODES),
    Verb("watch", LOOK_NODES),
];

const READ_STATUS: &[Verb] = &[Verb("get", "`kubectl get --subresource=status`")];

const EDIT_SCHEDEXTS: &[Verb] = &[
    Verb("get", LOOK),
    Verb("list", LOOK),
    Verb("watch", LOOK),
    Verb("create", WRITE),
    Verb("update", WRITE),
    Verb("patch", WRITE),
    Verb("delete", WRITE),
];

const DAEMONSETS: &[Verb] = &[
    Verb("get", "the whole object, before it is put right"),
    Verb("list", "what there is"),
    Verb("watch", "drift is repaired as soon as it happens"),
    Verb(
        "create",
        "a SchedExt and each pool has one; a dry run checks the admission policy",
    ),
    Verb(
        "update",
        "to change it, and to take away what others added to its pods",
    ),
    Verb("delete", "a pool that is gone"),
];

const NODES: &[Verb] = &[
    Verb("list", "which nodes a SchedExt means"),
    Verb("watch", "nodes come, go and change their labels"),
    Verb(
        "patch",
        "the owner label; the admission policy allows no other change, and a dry run checks that",
    ),
];

const PODS: &[Verb] = &[
    Verb(
        "list",
        "the states of schedulers' containers and why they ended; whether an agent is ready; who has the schedulers' host port",
    ),
    Verb("watch", "as soon as it changes"),
];

const EVENTS: &[Verb] = &[
    Verb("list", "why pods are missing (`FailedCreate`)"),
    Verb("watch", "as soon as it happens"),
];

const NEW_EVENTS: &[Verb] = &[
    Verb("create", "what happened, on the SchedExt"),
    Verb("patch", "that it happened again, without a new event"),
];
