//! Random numbers that follow from a seed, the same in all versions: of statistics that resample, and
//! of sets of runs.

/// Increment of SplitMix64's state (Steele, Lea and Flood, 2014) for each number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that SplitMix64 makes of its state.
fn finish(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Random bits that follow from a seed and numbers: of the series of the seed the one at the first
/// number, counted from 0, which is the seed for the next number.
pub fn mix(seed: u64, numbers: &[u64]) -> u64 {
    numbers.iter().fold(seed, |seed, number| {
        finish(seed.wrapping_add(number.wrapping_add(1).wrapping_mul(GAMMA)))
    })
}

/// A series of random numbers: SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// The series of that seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        finish(self.0)
    }

    /// A number from 0 to `n - 1`; each has the same probability up to 2^-64.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
impl Random {
    /// A number between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Normal, of mean 0 and standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The sum of that many exponential numbers: skewed by `2 / sqrt(n)`, of mean and variance `n`.
    pub(crate) fn gamma(&mut self, n: usize) -> f64 {
        (0..n).map(|_| -self.unit().ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567, as in <https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64>.
    const FIRST: [u64; 3] = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
    ];

    #[test]
    fn the_series_is_that_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!(std::array::from_fn(|_| random.bits()), FIRST);
    }

    /// The order of the runs of stored sets and their seeds follow from these bits.
    #[test]
    fn mixed_bits_never_change() {
        assert_eq!([0, 1, 2].map(|i| mix(1_234_567, &[i])), FIRST);
        assert_eq!(mix(42, &[]), 42);
        assert_eq!(mix(42, &[1, 2]), 9_347_878_797_982_206_644);
        assert_eq!(mix(42, &[1, u64::MAX]), 7_674_866_750_814_116_834);
        assert_eq!(mix(u64::MAX, &[7, u64::MAX]), 10_641_431_127_072_363_478);
    }

    #[test]
    fn numbers_below_n_are_even() {
        let mut random = Random::new(1);
        let mut counts = [0; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(
            counts.iter().all(|n| (9_500..10_500).contains(n)),
            "{counts:?}"
        );
    }
}
