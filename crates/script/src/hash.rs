//! The hash and pseudo-random permutation functions of the script language.

use crate::rng::Rng;

/// 64-bit FNV-1a over the eight bytes of `value`, least significant first; `seed` is mixed into
/// the offset basis.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let hash = value
        .to_le_bytes()
        .iter()
        .fold(OFFSET_BASIS ^ seed as u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
        });
    hash as i64
}

/// MurmurHash2 (64-bit variant A) of the eight bytes of `value`.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;
    const SHIFT: u32 = 47;
    const LENGTH: u64 = 8;
    let mut block = (value as u64).wrapping_mul(MULTIPLIER);
    block ^= block >> SHIFT;
    block = block.wrapping_mul(MULTIPLIER);

    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(LENGTH);
    hash ^= block;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^= hash >> SHIFT;
    hash as i64
}

/// The image of `value` modulo `size` (unsigned) under a permutation of 0..size that `seed`
/// selects; `None` unless `size` > 0.
///
/// Six rounds of two overlapping, invertible scramblings of the largest power of two that fits,
/// each followed by a rotation of the whole range.
pub fn permute(value: i64, size: i64, seed: i64) -> Option<i64> {
    const ROUNDS: usize = 6;
    let count = u64::try_from(size).ok().filter(|count| *count > 0)?;
    if count == 1 {
        return Some(0);
    }
    let mut rng = Rng::from_seed(seed as u64);
    let bits = count.ilog2();
    let mask = (1u64 << bits) - 1;
    let mut value = value as u64 % count;
    for _ in 0..ROUNDS {
        let low = Scramble::draw(&mut rng, bits, mask);
        if value <= mask {
            value = low.apply(value);
        }
        let high = Scramble::draw(&mut rng, bits, mask);
        let mirrored = count - 1 - value;
        if mirrored <= mask {
            value = count - 1 - high.apply(mirrored);
        }
        let offset = rng.range(0, size - 1) as u64;
        value = (value + offset) % count;
    }
    Some(value as i64)
}

/// A bijection of the integers of `bits` bits.
struct Scramble {
    multiplier: u64,
    toggle: u64,
    bits: u32,
    mask: u64,
}

impl Scramble {
    fn draw(rng: &mut Rng, bits: u32, mask: u64) -> Self {
        Self {
            multiplier: (rng.next_u64() & mask) | 1,
            toggle: rng.next_u64() & mask,
            bits,
            mask,
        }
    }

    fn apply(&self, value: u64) -> u64 {
        let mixed = (value.wrapping_mul(self.multiplier) ^ self.toggle) & self.mask;
        ((mixed << 1) & self.mask) | (mixed >> (self.bits - 1))
    }
}
