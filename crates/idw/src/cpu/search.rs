//! The neighbours of targets.
//!
//! Patches of targets side by side (`patches`) search the index's cells together (`together`, `min_lists`). Where cells
//! are slow, patches search a k-d tree of the points (`kd_tree`, `descent`). Each other target searches the tree alone
//! (`single_search`). All weigh their neighbours in the same way (`neighbours`).

pub(super) mod boxes;
pub(super) mod candidates;
pub(super) mod descent;
pub(super) mod diagonal;
pub(super) mod kd_tree;
pub(super) mod min_lists;
pub(super) mod neighbours;
pub(super) mod patch;
pub(super) mod patches;
#[cfg(test)]
mod search_tests;
pub(super) mod single_search;
pub(super) mod together;
pub(super) mod vector_weights;
