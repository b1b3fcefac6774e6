//! Which side of a call runs on which processor, and whether a third process runs beside them that never rests.

use crate::failure::{Failure, Outcome};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where a process runs: on one processor, or where the kernel puts it.
pub type Place = Option<usize>;

/// See the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// As tables call it.
    pub name: &'static str,
    /// The client's place.
    pub client: Place,
    /// The server's.
    pub server: Place,
    /// The third process's, if there is one.
    pub neighbour: Option<Place>,
}

/// The processors that this process may use.
///
/// # Errors
/// The operating system refuses.
pub fn processors() -> Outcome<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect())
}

/// Puts this process in its place.
///
/// # Errors
/// The operating system refuses.
pub fn settle(place: Place) -> Outcome<()> {
    let Some(processor) = place else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(Failure::refused(&format!("run on processor {processor}")))
}

/// Both sides on one processor, alone.
pub fn one(processors: &[usize]) -> Placement {
    let place = processors.first().copied();
    Placement { name: "one processor", client: place, server: place, neighbour: None }
}

/// A processor for each side; where there is one only, both are on it, and the name says so.
pub fn two(processors: &[usize]) -> Placement {
    match processors {
        [first, .., last] => {
            Placement { name: "two processors", client: Some(*first), server: Some(*last), neighbour: None }
        }
        _ => one(processors),
    }
}

/// All of them: alone, then beside a neighbour, which shares the server's place.
pub fn all(processors: &[usize]) -> Vec<Placement> {
    let anywhere = Placement { name: "unpinned", client: None, server: None, neighbour: None };
    let mut alone = vec![one(processors), anywhere];
    let mut busy = vec!["one, neighbour", "unpinned, neighbour"];
    if processors.len() > 1 {
        alone.insert(0, two(processors));
        busy.insert(0, "two, neighbour");
    }
    let beside =
        |(placement, name): (&Placement, _)| Placement { name, neighbour: Some(placement.server), ..*placement };
    let busy: Vec<Placement> = alone.iter().zip(busy).map(beside).collect();
    alone.into_iter().chain(busy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a placement is missing, or its name is another one's.
    #[test]
    fn every_placement_is_there_alone_and_beside_a_neighbour() {
        let placements = all(&[2, 5]);
        let found: Vec<_> = placements.iter().map(|p| (p.client, p.server, p.neighbour)).collect();
        let alone = [(Some(2), Some(5)), (Some(2), Some(2)), (None, None)];
        let expected: Vec<_> = alone
            .iter()
            .map(|&(client, server)| (client, server, None))
            .chain(alone.iter().map(|&(client, server)| (client, server, Some(server))))
            .collect();
        assert_eq!(found, expected);
        // On a machine of one processor nothing runs on two.
        assert_eq!(all(&[0]).len(), 4);
    }
}
