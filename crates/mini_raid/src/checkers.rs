//! Checkers: they stand outside the servers, one file per property.
//!
//! * [`serializability`]: what clients saw fits one order of transactions that agrees with real time;
//! * [`durability`]: what was acknowledged is there at the end, what was refused is not;
//! * [`copies`]: all sites end with equal copies, nothing stale;
//! * [`draws`]: a sequence gives out no value twice;
//! * [`families`]: no child lacks its parent, cascades are whole;
//! * [`locks`]: what was taken because nobody else had it, nobody else has had;
//! * [`methods`]: a site runs the method of concurrency control that is installed there;
//! * [`notifications`]: who listens is told of each commit once, in one order everywhere;
//! * [`outcomes`]: one outcome per transaction and epoch in all logs of all sites.
//!
//! What a site tells as refreshed is looked for among what is stale in its copy where it is sent (`world::wires`).
//!
//! Liveness is checked where the world ends (`world::ending`): every site is up, every request is answered.

pub mod copies;
pub mod draws;
pub mod durability;
pub mod families;
pub mod locks;
pub mod methods;
pub mod notifications;
pub mod outcomes;
pub mod serializability;
