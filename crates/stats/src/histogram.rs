//! Latency histograms: merging, storage and percentiles.
//!
//! The counting itself, while a run goes on, happens in plain arrays laid out by
//! [`buckets`](crate::buckets); their counters are added here afterwards.

use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::buckets::{self, BUCKETS, HIGHEST_NS, LOWEST_NS, MAX_COUNT, SIGNIFICANT_DIGITS};
use crate::error::StatsError;
use crate::units::NS_PER_MS;

/// First word of a compressed histogram, see [`LatencyHistogram::encode`].
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// First word of the histogram within the compressed part.
const PLAIN_COOKIE: u32 = 0x1c84_9313;

/// Bytes before the counts: cookie, length of the counts, normalizing offset and digits (4 each),
/// lowest and highest value and the ratio of integer to double values (8 each).
const PLAIN_HEADER_LEN: usize = 40;

/// Bytes that a number takes at most in the LEB128 variant of the format.
const MAX_NUMBER_LEN: usize = 9;

/// Bytes of the largest histogram of this crate's bounds when decompressed.
const MAX_PLAIN_LEN: usize = PLAIN_HEADER_LEN + MAX_NUMBER_LEN * BUCKETS;

/// Number of latencies in each bucket.
///
/// Three significant digits between 64 ns and 24 h; takes a quarter of a megabyte of memory,
/// independent of what is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    inner: Histogram<u64>,
}

impl LatencyHistogram {
    /// Most samples that a histogram holds.
    pub const MAX_COUNT: u64 = MAX_COUNT;

    /// An empty histogram.
    pub fn new() -> Self {
        let inner = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the crate accepts");
        Self { inner }
    }

    /// Adds `count` latencies to the bucket with this index.
    ///
    /// An index of [`BUCKETS`] or more counts as the last bucket. Samples
    /// above [`MAX_COUNT`](Self::MAX_COUNT) are left out.
    pub fn record_bucket(&mut self, index: usize, count: u64) {
        let count = count.min(Self::MAX_COUNT - self.count());
        // A count of 0 would still widen the range of values that the crate keeps.
        if count > 0 {
            self.inner
                .saturating_record_n(buckets::lowest_of(index), count);
        }
    }

    /// Adds one latency in nanoseconds; above 24 h it counts as 24 h.
    pub fn record(&mut self, latency_ns: u64) {
        self.record_bucket(buckets::index_of(latency_ns), 1);
    }

    /// Adds the samples of another histogram.
    ///
    /// Fails with [`StatsError::TooManySamples`], and leaves `self` as it was, if both together
    /// have more than [`MAX_COUNT`](Self::MAX_COUNT) samples.
    pub fn merge(&mut self, other: &Self) -> Result<(), StatsError> {
        if other.count() > Self::MAX_COUNT - self.count() {
            return Err(StatsError::TooManySamples);
        }
        self.inner
            .add(&other.inner)
            .map_err(|_| StatsError::TooManySamples)
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The latency in nanoseconds that `percentile` percent of the samples do not exceed.
    ///
    /// The value is hdrhistogram's `value_at_percentile`: the highest one of the bucket in which
    /// the sample of rank `percentile / 100 * count`, rounded up, lies. So it is up to 1/1024 (or
    /// 63 ns) above the sample and may be above the highest latency recorded; percentile 0 alone
    /// gives the lowest value of the first bucket in use. `None` if the histogram is empty
    /// or `percentile` is not within 0 and 100.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let askable = (0.0..=100.0).contains(&percentile) && !self.is_empty();
        askable.then(|| {
            let count = self.count() as f64;
            // The crate rounds a product up. It is half a rank below the one meant, so that an error of
            // the quotient does not matter.
            let below = (rank(percentile, count) - 0.5).max(0.0);
            self.inner.value_at_quantile(below / count)
        })
    }

    /// [`percentile_ns`](Self::percentile_ns) in milliseconds.
    pub fn percentile_ms(&self, percentile: f64) -> Option<f64> {
        self.percentile_ns(percentile)
            .map(|ns| ns as f64 / NS_PER_MS)
    }

    /// The buckets in use, by rising latency: index among [`buckets`] and number of samples, which is
    /// never 0.
    pub fn recorded(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.inner.iter_recorded().map(|step| {
            (
                buckets::index_of(step.value_iterated_to()),
                step.count_at_value(),
            )
        })
    }

    /// The histogram as bytes, in the form in which it is stored (columns of type `bytea`) and
    /// exchanged.
    ///
    /// This is HdrHistogram's second format with zlib compression, which implementations in other
    /// languages read as well. All numbers are big-endian: the word 0x1c849314, the number of
    /// bytes that follow, and compressed: the word 0x1c849313, the number of bytes of the counts,
    /// 0, the number of digits (4 bytes each), the lowest and highest value, the double 1.0
    /// (8 bytes each), then one number per bucket up to the last in use, negative for that
    /// many consecutive empty buckets, zigzag-coded in LEB128 of at most 9 bytes. Fails with
    /// [`StatsError::Encoding`] if the compressor fails.
    pub fn encode(&self) -> Result<Vec<u8>, StatsError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.inner, &mut bytes)
            .map_err(|error| StatsError::Encoding(error.to_string()))?;
        Ok(bytes)
    }

    /// The histogram that [`encode`](Self::encode) has made these bytes from.
    ///
    /// The bytes may come from any user: no more than the largest histogram of this crate's bounds is
    /// ever decompressed. hdrhistogram's own `Deserializer` is not used, not even for the counts of a
    /// histogram whose header has been checked: it allocates what the header states (up to 4 GB of
    /// counts, and any bounds), negates the lowest 64-bit number, which panics where overflow is
    /// checked, and accepts empty buckets beyond the last one. Fails with
    ///
    /// * [`StatsError::Format`] and [`StatsError::Length`] if the headers do not fit,
    /// * [`StatsError::Bounds`] for a histogram of other bounds,
    /// * [`StatsError::Compression`] and [`StatsError::Counts`] for damaged content,
    /// * [`StatsError::TooManySamples`] for more than [`MAX_COUNT`](Self::MAX_COUNT) samples.
    pub fn decode(bytes: &[u8]) -> Result<Self, StatsError> {
        let mut histogram = Self::new();
        let mut stored = StoredHistograms::default();
        stored.for_each(bytes, |index, count| histogram.record_bucket(index, count))?;
        Ok(histogram)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads histograms in their stored form, one after the other, in the memory of the first: neither a
/// quarter of a megabyte for each, nor a window of the decompressor.
#[derive(Debug)]
pub struct StoredHistograms {
    inflate: Decompress,
    plain: Vec<u8>,
}

impl StoredHistograms {
    /// The buckets in use of a histogram, by rising latency: index among [`buckets`] and number of
    /// samples, which is never 0. Fails as [`LatencyHistogram::decode`], when some buckets may have
    /// been visited.
    pub fn for_each(
        &mut self,
        bytes: &[u8],
        each: impl FnMut(usize, u64),
    ) -> Result<(), StatsError> {
        let mut outer = Reader(bytes);
        if outer.u32() != Some(COMPRESSED_COOKIE) {
            return Err(StatsError::Format);
        }
        let stated = outer.u32().ok_or(StatsError::Format)?;
        check_len(stated, outer.0)?;
        Self::visit_plain(self.decompress(outer.0)?, each)
    }

    /// The content of a zlib stream that takes up all of `compressed` and holds at most
    /// [`MAX_PLAIN_LEN`] bytes.
    fn decompress(&mut self, compressed: &[u8]) -> Result<&[u8], StatsError> {
        self.inflate.reset(true);
        let status = self
            .inflate
            .decompress(compressed, &mut self.plain, FlushDecompress::Finish);
        let consumed = self.inflate.total_in();
        match status {
            Ok(Status::StreamEnd) if consumed == compressed.len() as u64 => {
                Ok(&self.plain[..self.inflate.total_out() as usize])
            }
            _ => Err(StatsError::Compression),
        }
    }

    /// Reads the part that was compressed.
    fn visit_plain(plain: &[u8], mut each: impl FnMut(usize, u64)) -> Result<(), StatsError> {
        let mut reader = Reader(plain);
        if reader.u32() != Some(PLAIN_COOKIE) {
            return Err(StatsError::Format);
        }
        let header = (|| {
            Some((
                reader.u32()?,
                reader.u32()?,
                reader.u32()?,
                reader.u64()?,
                reader.u64()?,
                f64::from_bits(reader.u64()?),
            ))
        })();
        let Some((stated, offset, digits, lowest_ns, highest_ns, ratio)) = header else {
            return Err(StatsError::Format);
        };
        if offset != 0 || ratio != 1.0 {
            return Err(StatsError::Format);
        }
        if (lowest_ns, highest_ns, digits) != (LOWEST_NS, HIGHEST_NS, u32::from(SIGNIFICANT_DIGITS))
        {
            return Err(StatsError::Bounds {
                lowest_ns,
                highest_ns,
                digits,
            });
        }
        check_len(stated, reader.0)?;

        let (mut index, mut total) = (0, 0);
        while !reader.0.is_empty() {
            let number = reader.number().ok_or(StatsError::Counts)?;
            let step = if number < 0 {
                number.unsigned_abs()
            } else {
                let count = number.unsigned_abs();
                if count > LatencyHistogram::MAX_COUNT - total {
                    return Err(StatsError::TooManySamples);
                }
                if index < BUCKETS && count > 0 {
                    each(index, count);
                    total += count;
                }
                1
            };
            index = usize::try_from(step)
                .ok()
                .and_then(|step| index.checked_add(step))
                .filter(|next| *next <= BUCKETS)
                .ok_or(StatsError::Counts)?;
        }
        Ok(())
    }
}

/// The rank of a percentile among so many samples, from 1; 0 for percentile 0.
///
/// A percentile such as 99.9 is not exact as a double, so a product this close to a whole number is one.
fn rank(percentile: f64, count: f64) -> f64 {
    let exact = percentile * count / 100.0;
    let whole = exact.round();
    match (exact - whole).abs() <= 4.0 * f64::EPSILON * whole {
        true => whole,
        false => exact.ceil(),
    }
}

impl Default for StoredHistograms {
    fn default() -> Self {
        Self {
            inflate: Decompress::new(true),
            plain: vec![0; MAX_PLAIN_LEN],
        }
    }
}

/// Whether as many bytes follow as a header says.
fn check_len(stated: u32, rest: &[u8]) -> Result<(), StatsError> {
    let (stated, actual) = (u64::from(stated), rest.len() as u64);
    if stated == actual {
        Ok(())
    } else {
        Err(StatsError::Length { stated, actual })
    }
}

/// Reads big-endian words and the format's variable-length numbers off the front of a slice.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }

    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*word))
    }

    /// A zigzag-coded number: seven bits a byte, least significant first, as long as the highest
    /// bit is set; all eight bits of the ninth.
    fn number(&mut self) -> Option<i64> {
        let mut value = 0_u64;
        for position in 0..MAX_NUMBER_LEN {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let last = position + 1 == MAX_NUMBER_LEN;
            let bits = if last { *byte } else { byte & 0x7f };
            value |= u64::from(bits) << (7 * position);
            if last || byte & 0x80 == 0 {
                break;
            }
        }
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    fn histogram(latencies_ns: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for ns in latencies_ns {
            histogram.record(*ns);
        }
        histogram
    }

    /// An encoded histogram of these bounds around arbitrary counts.
    fn encoded(digits: u32, counts: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        plain.extend(PLAIN_COOKIE.to_be_bytes());
        plain.extend((counts.len() as u32).to_be_bytes());
        plain.extend(0_u32.to_be_bytes());
        plain.extend(digits.to_be_bytes());
        plain.extend(LOWEST_NS.to_be_bytes());
        plain.extend(HIGHEST_NS.to_be_bytes());
        plain.extend(1.0_f64.to_be_bytes());
        plain.extend(counts);
        compressed(&plain)
    }

    fn compressed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        let stream = encoder.finish().unwrap();
        let mut bytes = COMPRESSED_COOKIE.to_be_bytes().to_vec();
        bytes.extend((stream.len() as u32).to_be_bytes());
        bytes.extend(stream);
        bytes
    }

    /// One number in the format's variable length.
    fn number(value: i64) -> Vec<u8> {
        let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
        let mut bytes = Vec::new();
        while bytes.len() < MAX_NUMBER_LEN - 1 && rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    #[test]
    fn percentiles_are_the_highest_equivalent_values() {
        let latencies: Vec<u64> = (1..=1000).map(|us| us * 1000).collect();
        let histogram = histogram(&latencies);
        assert_eq!(histogram.count(), 1000);
        for (percentile, ns) in [(50.0, 500_000), (75.0, 750_000), (100.0, 1_000_000)] {
            let expected = buckets::highest_of(buckets::index_of(ns));
            assert_eq!(histogram.percentile_ns(percentile), Some(expected));
            assert_eq!(
                histogram.percentile_ms(percentile),
                Some(expected as f64 / 1e6)
            );
        }
        let lowest = buckets::lowest_of(buckets::index_of(1000));
        assert_eq!(histogram.percentile_ns(0.0), Some(lowest));
    }

    #[test]
    fn the_rank_of_a_percentile_is_exact() {
        for thousands in (1..=2000).chain([1 << 30, 1 << 40]) {
            let count = thousands as f64 * 1000.0;
            for per_thousand in [1, 500, 900, 950, 990, 995, 999, 1000] {
                let rank = rank(f64::from(per_thousand) / 10.0, count);
                assert_eq!(
                    rank,
                    (per_thousand as u64 * thousands) as f64,
                    "{thousands}"
                );
            }
        }
        for (percentile, count, expected) in [
            (0.0, 7.0, 0.0),
            (1e-9, 7.0, 1.0),
            (50.0, 7.0, 4.0),
            (99.9, 999.0, 999.0),
            (99.9, 1001.0, 1000.0),
            (100.0, 7.0, 7.0),
        ] {
            assert_eq!(rank(percentile, count), expected, "{percentile} of {count}");
        }
    }

    #[test]
    fn a_percentile_is_the_sample_of_its_rank() {
        for thousands in 1..=50 {
            let mut histogram = LatencyHistogram::new();
            histogram.record_bucket(buckets::index_of(1_000_000), thousands * 999);
            histogram.record_bucket(buckets::index_of(9_000_000), thousands);
            let expected = buckets::highest_of(buckets::index_of(1_000_000));
            assert_eq!(histogram.percentile_ns(99.9), Some(expected), "{thousands}");
        }
        for samples in 1..=300_u64 {
            let us: Vec<u64> = (1..=samples).map(|us| us * 1000).collect();
            let histogram = histogram(&us);
            for percentile in 1..=100 {
                let rank = (percentile * samples).div_ceil(100);
                let expected = buckets::highest_of(buckets::index_of(rank * 1000));
                assert_eq!(histogram.percentile_ns(percentile as f64), Some(expected));
            }
        }
    }

    #[test]
    fn no_percentile_without_samples_or_outside_the_range() {
        assert_eq!(LatencyHistogram::new().percentile_ns(50.0), None);
        assert!(LatencyHistogram::new().is_empty());
        let histogram = histogram(&[1000]);
        for percentile in [-0.1, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(histogram.percentile_ns(percentile), None);
        }
    }

    #[test]
    fn extremes_are_clamped() {
        let histogram = histogram(&[0, u64::MAX]);
        assert_eq!(
            histogram.recorded().collect::<Vec<_>>(),
            [(0, 1), (BUCKETS - 1, 1)]
        );
        let mut beyond = LatencyHistogram::new();
        beyond.record_bucket(usize::MAX, 3);
        assert_eq!(beyond.recorded().collect::<Vec<_>>(), [(BUCKETS - 1, 3)]);
    }

    #[test]
    fn samples_are_limited() {
        let max = LatencyHistogram::MAX_COUNT;
        let mut full = LatencyHistogram::new();
        full.record_bucket(5, max - 1);
        full.record_bucket(6, u64::MAX);
        assert_eq!(full.count(), max);
        assert_eq!(
            full.percentile_ns(100.0),
            Some(buckets::highest_of(6)),
            "the rank of the last sample is exact"
        );
        let before = full.clone();
        assert_eq!(
            full.merge(&histogram(&[1])),
            Err(StatsError::TooManySamples)
        );
        assert_eq!(full, before);
        assert_eq!(full.merge(&LatencyHistogram::new()), Ok(()));
        let bytes = full.encode().unwrap();
        assert_eq!(LatencyHistogram::decode(&bytes), Ok(full));
    }

    #[test]
    fn an_empty_histogram_survives_storage() {
        let empty = LatencyHistogram::new();
        let bytes = empty.encode().unwrap();
        assert_eq!(LatencyHistogram::decode(&bytes), Ok(empty));
    }

    #[test]
    fn what_is_not_a_histogram_is_refused() {
        let good = histogram(&[1000, 2000]).encode().unwrap();
        let decode = |bytes: &[u8]| LatencyHistogram::decode(bytes).unwrap_err();

        assert_eq!(decode(b""), StatsError::Format);
        assert_eq!(decode(&good[..7]), StatsError::Format);
        assert_eq!(decode(b"not a histogram"), StatsError::Format);
        let stated = good.len() as u64 - 8;
        assert_eq!(
            decode(&good[..good.len() - 1]),
            StatsError::Length {
                stated,
                actual: stated - 1
            }
        );
        let mut garbled = good.clone();
        for byte in &mut garbled[10..] {
            *byte = !*byte;
        }
        assert_eq!(decode(&garbled), StatsError::Compression);
        let mut longer = good.clone();
        longer.push(0);
        longer[4..8].copy_from_slice(&(stated as u32 + 1).to_be_bytes());
        assert_eq!(decode(&longer), StatsError::Compression);
        assert_eq!(decode(&compressed(b"")), StatsError::Format);
        assert_eq!(
            decode(&encoded(2, &[])),
            StatsError::Bounds {
                lowest_ns: LOWEST_NS,
                highest_ns: HIGHEST_NS,
                digits: 2
            }
        );
        assert!(decode(&encoded(2, &[])).to_string().contains("3 digits"));
    }

    #[test]
    fn damaged_counts_are_refused() {
        let decode = |counts: &[u8]| LatencyHistogram::decode(&encoded(3, counts));
        let skip_all = number(-(BUCKETS as i64));

        assert_eq!(decode(&[]), Ok(LatencyHistogram::new()));
        assert_eq!(decode(&skip_all), Ok(LatencyHistogram::new()));
        assert_eq!(decode(&[0x80]), Err(StatsError::Counts), "cut off");
        for number in [
            number(i64::MIN),
            number(-(BUCKETS as i64) - 1),
            [skip_all.clone(), number(1)].concat(),
            [skip_all.clone(), number(0)].concat(),
        ] {
            assert_eq!(decode(&number), Err(StatsError::Counts));
        }
        for number in [
            number(i64::MAX),
            number((1 << 53) + 1),
            [number(1 << 53), number(1)].concat(),
        ] {
            assert_eq!(decode(&number), Err(StatsError::TooManySamples));
        }
    }

    #[test]
    fn a_header_does_not_decide_how_much_is_allocated() {
        let plain = |counts_len: u32, digits: u32, lowest: u64, highest: u64| {
            let mut plain = PLAIN_COOKIE.to_be_bytes().to_vec();
            plain.extend([counts_len, 0, digits].map(u32::to_be_bytes).concat());
            plain.extend([lowest, highest].map(u64::to_be_bytes).concat());
            plain.extend(1.0_f64.to_be_bytes());
            LatencyHistogram::decode(&compressed(&plain))
        };
        let stated = u64::from(u32::MAX);
        assert_eq!(
            plain(u32::MAX, 3, LOWEST_NS, HIGHEST_NS),
            Err(StatsError::Length { stated, actual: 0 })
        );
        for (digits, lowest, highest) in [
            (5, 1, u64::MAX),
            (3, 0, 0),
            (3, LOWEST_NS, u64::MAX),
            (u32::MAX, LOWEST_NS, HIGHEST_NS),
        ] {
            assert_eq!(
                plain(0, digits, lowest, highest),
                Err(StatsError::Bounds {
                    lowest_ns: lowest,
                    highest_ns: highest,
                    digits
                })
            );
        }
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        let bomb = compressed(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1 << 17);
        assert_eq!(
            LatencyHistogram::decode(&bomb),
            Err(StatsError::Compression)
        );
    }

    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        let latency =
            (0_u32..64, any::<u64>()).prop_map(|(bits, noise)| (noise >> bits).min(HIGHEST_NS));
        prop::collection::vec(latency, 0..200)
    }

    #[test]
    fn stored_histograms_are_read_one_after_the_other() {
        let mut stored = StoredHistograms::default();
        let mut buckets_of = |bytes: &[u8]| {
            let mut seen = Vec::new();
            stored.for_each(bytes, |index, count| seen.push((index, count)))?;
            Ok::<_, StatsError>(seen)
        };
        let few = histogram(&[100, 5_000_000, 5_000_001]);
        let many = histogram(&(0..5000).map(|i| i * 7919).collect::<Vec<_>>());
        let (few_bytes, many_bytes) = (few.encode().unwrap(), many.encode().unwrap());
        let index = buckets::index_of;
        assert_eq!(
            buckets_of(&few_bytes),
            Ok(vec![(index(100), 1), (index(5_000_000), 2)])
        );
        assert_eq!(buckets_of(&many_bytes), Ok(many.recorded().collect()));
        assert!(buckets_of(&few_bytes[1..]).is_err());
        assert_eq!(
            buckets_of(&compressed(&vec![0; 64 << 20])),
            Err(StatsError::Compression)
        );
        assert_eq!(buckets_of(&few_bytes), Ok(few.recorded().collect()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn storage_is_exact_and_the_crates_own(mut latencies in latencies()) {
            // While all values are in the first bucket, the crate keeps no highest value; what it
            // reads has one.
            if !latencies.is_empty() {
                latencies.push(buckets::LOWEST_NS);
            }
            let histogram = histogram(&latencies);
            let bytes = histogram.encode().unwrap();
            let by_the_crate: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(&histogram.inner, &by_the_crate);
            prop_assert_eq!(LatencyHistogram::decode(&bytes), Ok(histogram));
        }

        #[test]
        fn merging_equals_recording_together(a in latencies(), b in latencies()) {
            let mut merged = histogram(&a);
            merged.merge(&histogram(&b)).unwrap();
            prop_assert_eq!(merged, histogram(&[a, b].concat()));
        }

        #[test]
        fn counters_of_buckets_equal_latencies(latencies in latencies()) {
            let histogram = histogram(&latencies);
            let mut counters = vec![0; BUCKETS];
            for ns in &latencies {
                counters[buckets::index_of(*ns)] += 1;
            }
            let mut poured = LatencyHistogram::new();
            for (index, count) in counters.into_iter().enumerate() {
                poured.record_bucket(index, count);
            }
            prop_assert_eq!(&poured, &histogram);
            let mut again = LatencyHistogram::new();
            for (index, count) in histogram.recorded() {
                again.record_bucket(index, count);
            }
            prop_assert_eq!(&again, &histogram);
        }

        #[test]
        fn any_counts_decode_or_fail(counts: Vec<u8>, bytes: Vec<u8>) {
            if let Ok(histogram) = LatencyHistogram::decode(&encoded(3, &counts)) {
                prop_assert!(histogram.count() <= LatencyHistogram::MAX_COUNT);
                prop_assert_eq!(histogram.percentile_ns(50.0).is_none(), histogram.is_empty());
            }
            prop_assert!(LatencyHistogram::decode(&bytes).is_err());
        }

        #[test]
        fn a_damaged_byte_never_panics(
            latencies in latencies(),
            position: prop::sample::Index,
            byte: u8,
        ) {
            let mut bytes = histogram(&latencies).encode().unwrap();
            let position = position.index(bytes.len());
            bytes[position] = byte;
            let _ = LatencyHistogram::decode(&bytes);
        }
    }
}
