//! Hash functions and pseudo-random permutations.

use crate::common::{Client, shown};
use selfbench_script::permute;

#[test]
fn hashes() {
    for (text, value) in [
        ("hash(10,5432)", -5817877081768721676),
        ("hash_murmur2(10,5432)", -5817877081768721676),
        ("hash_fnv1a(10,5432)", -7793829335365542153),
        ("hash(-1,0)", 4219408603045787357),
        ("hash_fnv1a(-1,0)", -8289690350564177859),
        ("hash(0,0)", 8217090173679840641),
        ("hash_fnv1a(0,0)", -6284781860667377211),
        ("hash(1.6,2.4)", 8628357597987678224),
        ("hash(2,2)", 8628357597987678224),
        ("hash(5)", 8836847535837303587),
        ("hash_fnv1a(5)", 2392971891889444573),
        ("permute(3,100)", 74),
    ] {
        assert_eq!(Client::with_seed(42).int(text), value, "{text}");
    }
}

#[test]
fn permutations() {
    let images = |size, seed, values: &[i64]| -> Vec<i64> {
        values
            .iter()
            .map(|value| permute(*value, size, seed).unwrap())
            .collect()
    };
    assert_eq!(images(5, 0, &[0, 1, 2, 3, 4]), [2, 4, 0, 1, 3]);
    assert_eq!(
        images(8, 5432, &[0, 1, 2, 3, 4, 5, 6, 7]),
        [6, 0, 4, 5, 1, 3, 7, 2]
    );
    assert_eq!(images(10, 42, &[0, 1, 9, 10, -1]), [1, 7, 2, 1, 8]);
    assert_eq!(images(2, 5431, &[0, 1]), [0, 1]);
    assert_eq!(images(2, 5433, &[0, 1]), [1, 0]);
    assert_eq!(images(1_000_000, 7, &[12345]), [609207]);
    assert_eq!(images(1000, 0, &[i64::MIN]), [373]);
    assert_eq!(images(i64::MAX, -1, &[5]), [5317344602584391875]);
    let size = 9223372036854775797;
    assert_eq!(
        images(size, 5432, &[size - 1, size - 2, size - 3]),
        [520382784483822430, 1143715004660802862, 447293596416496998]
    );
    assert_eq!(images(1, 9, &[77]), [0]);
}

#[test]
fn a_permutation_maps_onto_its_whole_range() {
    for size in 1..200 {
        let mut images: Vec<i64> = (0..size).map(|v| permute(v, size, 3).unwrap()).collect();
        images.sort_unstable();
        assert!(images.into_iter().eq(0..size), "{size}");
    }
}

#[test]
fn a_permutation_needs_a_size() {
    for text in ["permute(1,0)", "permute(1,-5,3)"] {
        assert_eq!(
            shown(text),
            "permute size parameter must be greater than zero"
        );
    }
}
