//! Patches of sked's planner that break a roll-out only when events come in a certain order.

use crate::mutants::Patch;

/// Each was found by the model (`sked-plan/tests/properties/model.rs`) when it was written.
pub(super) const PLANNER: &[Patch] = &[
    Patch {
        removed: "that a rejected revision is taken back",
        file: "crates/sked-plan/src/rollout/templates.rs",
        changes: &[(
            "Some(RolloutPhase::Canary | RolloutPhase::RolledBack) => back(),",
            "Some(RolloutPhase::Canary) => back(),
            Some(RolloutPhase::RolledBack) => target(),",
        )],
    },
    Patch {
        removed: "that no canary is handed back while the DaemonSet controller replaces pods",
        file: "crates/sked-plan/src/rollout/canary.rs",
        changes: &[(
            "true => view.allowance(Scope::All),
        false => 0,",
            "true => view.allowance(Scope::All),
        false => 1,",
        )],
    },
    Patch {
        removed: "that a canary's pods wait while others are down",
        file: "crates/sked-plan/src/plan/decide.rs",
        changes: &[(
            "!plan.steps.is_empty() || others_change || down",
            "false && others_change || down",
        )],
    },
    Patch {
        removed: "that the end of a soak is due",
        file: "crates/sked-plan/src/rollout/advance.rs",
        changes: &[(
            "            soaked,
            attach,",
            "            soaked.filter(|_| false),
            attach,",
        )],
    },
    Patch {
        removed: "that a store drops an older version",
        file: "crates/sked-plan/src/version.rs",
        changes: &[(
            "=> !stored.knows(version),",
            "=> !stored.knows(version) || true,",
        )],
    },
    Patch {
        removed: "that priority takes a node",
        file: "crates/sked-plan/src/claim/node_resolver.rs",
        changes: &[(
            "priority: claimant.priority,
                presence:",
            "priority: 0,
                presence:",
        )],
    },
];
