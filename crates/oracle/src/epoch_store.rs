//! What a keeper of the epoch promises to sites: the seam between the embedded oracle and one that another store backs.

use messages::{Epoch, InstanceId, Server, SiteId};
use std::sync::Arc;

/// A server of kind `Oracle`. Sites know it by its messages alone (`messages::oracle`), so that any keeper that holds to this
/// contract will do:
///
/// 1. **One register.** `SwapEpoch` replaces exactly the epoch that it expects, by its direct successor, or nothing. Of
///    several for the same epoch, one wins, for ever.
/// 2. **A lost answer changes nothing.** The same swap again is won again, the same nonce gets the same incarnation.
/// 3. **What is answered is durable.** An epoch or incarnation that any answer has shown survives the loss of the process
///    and of power.
/// 4. **Reads are linearizable**: whoever reads after a swap was answered reads that epoch or a later one.
/// 5. **An incarnation is given out once**, one higher at every start of a site.
/// 6. **An old copy does no harm** (rule 13): after a start nothing is swapped until every member of the epoch in the register
///    has confirmed to this very process; a higher epoch that one of them brings takes the register's place, and so does another of
///    the same number if somebody may have served in that one alone; its members must confirm, too. Every answer names the process
///    (`OracleLife`), and a proposal to another is refused. A store that cannot be rolled back may count as confirmed, and be one life.
/// 7. **Nothing begins by itself**: only an explicit `init` makes an instance, and a keeper that has lost what it
///    kept answers nothing.
///
/// Answers come when they can be given, in any order: sites resend what is not answered.
pub trait EpochStore: Server {
    /// The instance that it serves.
    fn instance(&self) -> InstanceId;

    /// The epoch in the register, as far as this keeper knows; `None` while it can answer nothing.
    fn epoch(&self) -> Option<&Arc<Epoch>>;

    /// Members that have not confirmed since the start, while nothing can be swapped for lack of them.
    fn unconfirmed(&self) -> Vec<SiteId>;
}
