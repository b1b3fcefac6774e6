//! Random choices that a seed decides: the same seed gives the same statements on every machine.

/// A source of choices (SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The source that belongs to a seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The source of the case of this number within a run.
    pub fn of_case(seed: u64, case: u64) -> Random {
        let mut random = Random::new(seed ^ case.wrapping_mul(0xD134_2543_DE82_EF95));
        random.next();
        Random::new(random.next() ^ seed.rotate_left(32))
    }

    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is at least one.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is nothing to choose from");
        (self.next() % bound as u64) as usize
    }

    /// A number from `first` to `last`.
    pub fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// Yes, in so many of a hundred cases.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// The same items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were a case's choices to depend on the cases before it, no case could be repeated alone.
    #[test]
    fn a_case_has_choices_of_its_own() {
        let draw = |seed, case| -> Vec<u64> {
            let mut random = Random::of_case(seed, case);
            (0..4).map(|_| random.next()).collect()
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
    }

    /// A number that is never drawn is a kind of statement that is never tried.
    #[test]
    fn every_number_is_drawn() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
