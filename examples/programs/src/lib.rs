//! What the example programs share.

pub mod args;
pub mod catalogues;
pub mod cloud;
pub mod contours;
pub mod edges;
pub mod ground;
pub mod inputs;
pub mod mercator;
pub mod middle;
pub mod opening;
pub mod products;
pub mod program;
pub mod report;
mod rounded;
pub mod scale;
pub mod stages;
pub mod systems;
pub mod tally;
pub mod units;
