//! What is installed, and who may do what afterwards: the manifests of `config/`, the chart, the
//! admission policies. No manager runs here, so nothing is proved about it but what its account may
//! do.

mod agent_account;
mod authors;
mod chart;
pub(crate) mod fixture;
mod kustomize;
mod manager_account;
mod policies;
mod uninstall;
