//! What is in an OO7 database: the same for the same parameters, whoever stores it.
//!
//! Invariant: from its root part every atomic part of a composite part can be reached, because the first connections make a ring.

use serde::{Deserialize, Serialize};

/// How much of everything there is (table 1 of the OO7 paper, one module).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Composite parts.
    pub composites: u32,
    /// Atomic parts of each of them.
    pub atomics: u32,
    /// Connections that leave an atomic part.
    pub connections: u32,
    /// Levels of assemblies, the base assemblies' one included.
    pub levels: u32,
    /// Assemblies below one that is no base assembly.
    pub children: u32,
    /// Composite parts of a base assembly.
    pub components: u32,
    /// Letters of a document.
    pub document_bytes: usize,
    /// Letters of the manual.
    pub manual_bytes: usize,
}

impl Parameters {
    /// The paper's small database with three connections for each part.
    pub const SMALL: Parameters = Parameters {
        composites: 500,
        atomics: 20,
        connections: 3,
        levels: 7,
        children: 3,
        components: 3,
        document_bytes: 2_000,
        manual_bytes: 100_000,
    };
    /// A tenth of its composite parts, and two levels less: for a quick look. No database of the paper's.
    pub const TINY: Parameters = Parameters { composites: 50, levels: 5, ..Parameters::SMALL };
    /// For tests.
    pub const SMALLEST: Parameters = Parameters { composites: 5, levels: 2, manual_bytes: 100, ..Parameters::SMALL };

    /// Composite parts that a traversal comes to; those that are shared several times.
    pub fn visits(&self) -> u64 {
        u64::from(self.children).pow(self.levels - 1) * u64::from(self.components)
    }
}

/// What is below an assembly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assembly {
    /// Assemblies; none below a base assembly.
    pub children: Vec<u32>,
    /// Composite parts; those of a base assembly only.
    pub components: Vec<u32>,
}

/// A composite part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Composite {
    /// The atomic part that a traversal begins with.
    pub root: u32,
    /// Its document's text.
    pub document: String,
}

/// An atomic part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Atomic {
    /// Where it is.
    pub x: i32,
    /// Where it is.
    pub y: i32,
    /// A day.
    pub build_date: i32,
    /// The parts that its connections lead to, and how long they are.
    pub connections: Vec<(u32, u32)>,
}

/// See the module's description. Everything is named by its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Design {
    /// The first one is the root.
    pub assemblies: Vec<Assembly>,
    /// Shared by base assemblies.
    pub composites: Vec<Composite>,
    /// Those of one composite part stand together.
    pub atomics: Vec<Atomic>,
    /// The module's manual.
    pub manual: String,
}

/// With which words a document begins.
pub const DOCUMENT_BEGIN: &str = "I am";
/// And what takes their place in traversal 5.
pub const DOCUMENT_BEGIN_REPLACED: &str = "This is";

impl Design {
    /// Makes one.
    pub fn new(parameters: &Parameters) -> Design {
        let mut random = Random(7);
        let composites: Vec<Composite> = (0..parameters.composites)
            .map(|number| Composite {
                root: number * parameters.atomics,
                document: repeated(
                    &format!("{DOCUMENT_BEGIN} the documentation of composite part {number}. "),
                    parameters.document_bytes,
                ),
            })
            .collect();
        let atomics =
            (0..parameters.composites * parameters.atomics).map(|number| random.atomic(number, parameters)).collect();
        let mut assemblies = vec![Assembly { children: Vec::new(), components: Vec::new() }];
        let mut level = 0..1;
        for _ in 1..parameters.levels {
            let begin = assemblies.len();
            for parent in level.clone() {
                for _ in 0..parameters.children {
                    let child = assemblies.len() as u32;
                    assemblies[parent].children.push(child);
                    assemblies.push(Assembly { children: Vec::new(), components: Vec::new() });
                }
            }
            level = begin..assemblies.len();
        }
        for base in level {
            let components = (0..parameters.components).map(|_| random.below(parameters.composites));
            assemblies[base].components = components.collect();
        }
        Design {
            assemblies,
            composites,
            atomics,
            manual: repeated("The manual of the module. ", parameters.manual_bytes),
        }
    }
}

/// So many letters of a text that begins anew when it ends.
fn repeated(text: &str, bytes: usize) -> String {
    text.chars().cycle().take(bytes).collect()
}

/// Numbers without an order that anybody sees: a linear congruence (D. Knuth's MMIX), of which the upper bits are taken.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound.max(1))) as u32
    }

    fn atomic(&mut self, number: u32, parameters: &Parameters) -> Atomic {
        let (first, count) = (number / parameters.atomics * parameters.atomics, parameters.atomics);
        let next = first + (number - first + 1) % count;
        let mut connections = vec![(next, self.below(1_000))];
        while connections.len() < parameters.connections as usize {
            connections.push((first + self.below(count), self.below(1_000)));
        }
        let [x, y] = [100_000; 2].map(|bound| self.below(bound).cast_signed());
        Atomic { x, y, build_date: self.below(1_000).cast_signed(), connections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// If this fails, the database is not that of the OO7 paper, or a traversal misses parts of it.
    #[test]
    fn the_small_database_has_what_the_paper_says() {
        let design = Design::new(&Parameters::SMALL);
        assert_eq!((design.assemblies.len(), design.composites.len(), design.atomics.len()), (1093, 500, 10_000));
        let base = design.assemblies.iter().filter(|assembly| assembly.children.is_empty());
        assert_eq!(base.clone().count(), 729);
        assert_eq!(base.map(|assembly| assembly.components.len() as u64).sum::<u64>(), Parameters::SMALL.visits());
        for composite in &design.composites {
            let (mut found, mut next) = (BTreeSet::new(), vec![composite.root]);
            while let Some(part) = next.pop() {
                if found.insert(part) {
                    next.extend(design.atomics[part as usize].connections.iter().map(|(to, _)| *to));
                }
            }
            assert_eq!(found, (composite.root..composite.root + 20).collect());
            assert_eq!(composite.document.len(), 2_000);
        }
    }
}
