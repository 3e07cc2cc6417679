//! What is installed, and who may do what afterwards, on a real API server with its controllers:
//! the manifests of `config/`, the chart, the admission policies. No manager runs here, so nothing
//! is proved about it but what its account may do.

#![cfg(test)]

mod agent_account;
mod authors;
mod chart;
mod ground;
mod kustomize;
mod manager_account;
mod uninstall;
