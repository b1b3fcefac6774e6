//! The one source of chance in a simulated world.
//!
//! Invariant: what it gives depends on its seed and on the calls made so far, on nothing else, on any machine. (xoshiro256++ by Blackman
//! and Vigna, seeded by splitmix64.)

use seeded_random::SplitMix64 as SplitMix;

/// A seeded generator.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: [u64; 4],
}

impl SeededRandom {
    /// The generator of this seed.
    pub fn new(seed: u64) -> SeededRandom {
        let mut seeds = SplitMix::new(seed);
        SeededRandom { state: std::array::from_fn(|_| seeds.draw()) }
    }

    /// Another generator, independent of what this one gives later.
    pub fn fork(&mut self) -> SeededRandom {
        SeededRandom::new(self.draw())
    }

    /// 64 random bits.
    pub fn draw(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number below `bound`, which is not 0. (The bias of the multiplication is below 2^-32 for every bound used here.)
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0");
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// An index into something with `length` elements.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number in `low..high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).max(1))
    }

    /// True once in `of` times, on average.
    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// True so many times in a million.
    pub fn per_million(&mut self, times: u32) -> bool {
        times > 0 && self.below(1_000_000) < u64::from(times)
    }

    /// Exponentially distributed around this mean, at most 16 means.
    pub fn around(&mut self, mean: u64) -> u64 {
        // 53 bits, never 0.
        let uniform = ((self.draw() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (mean as f64 * (-logarithm(uniform)).min(16.0)) as u64
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.index(among.len())]
    }
}

/// The natural logarithm of a number in (0, 1], good to about 1e-6, the same on every machine: only increments,
/// multiplications and divisions, which IEEE 754 fixes to the bit (a platform's own `ln` may differ in the last one).
fn logarithm(number: f64) -> f64 {
    let bits = number.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let series = 1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square * (1.0 / 7.0 + square / 9.0)));
    exponent * std::f64::consts::LN_2 + 2.0 * ratio * series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a seed found on one machine replays nothing on another.
    #[test]
    fn gives_the_same_everywhere() {
        let mut random = SeededRandom::new(1);
        let first: Vec<u64> = (0..3).map(|_| random.draw()).collect();
        let mut again = SeededRandom::new(1);
        assert_eq!(first, (0..3).map(|_| again.draw()).collect::<Vec<_>>());
        assert_eq!(first[0], 14_971_601_782_005_023_387);
    }

    /// A mean that is off would make every latency and every fault rate something else than it says.
    #[test]
    fn keeps_its_means() {
        let mut random = SeededRandom::new(7);
        let count = 100_000;
        let sum: u64 = (0..count).map(|_| random.around(1_000)).sum();
        assert!((980..1_020).contains(&(sum / count)), "{}", sum / count);
        let hits = (0..count).filter(|_| random.one_in(10)).count();
        assert!((9_600..10_400).contains(&hits), "{hits}");
    }

    #[test]
    fn takes_logarithms() {
        for number in [1.0f64, 0.5, 0.3, 1e-3, 1e-15] {
            assert!((logarithm(number) - number.ln()).abs() < 1e-4, "{number}");
        }
    }
}
