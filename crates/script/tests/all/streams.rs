//! The random streams of a run: seeds, order of derivation, and who draws from what.

use selfbench_script::{
    Protocol, Rng, Seed, Streams, WorkloadBuilder, clients_per_thread, parse_seed,
};

#[test]
fn raw_outputs() {
    let mut rng = Rng::from_seed(42);
    let outputs = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
    assert_eq!(
        outputs,
        [
            7631449856891427754,
            4306334408478191133,
            4482733528210176216
        ]
    );
}

#[test]
fn default_seed_is_drawn_behind_the_clients() {
    assert_eq!(
        Streams::derive(42, 1, 1, false).default_seed,
        4306334408478191133
    );
    assert_eq!(
        Streams::derive(5432, 1, 1, false).default_seed,
        7590783070443337668
    );
}

#[test]
fn a_given_default_seed_takes_no_output() {
    let drawn = Streams::derive(42, 2, 1, false);
    let given = Streams::derive(42, 2, 1, true);
    assert_eq!(drawn.clients, given.clients);
    assert_ne!(drawn.threads, given.threads);
    assert_eq!(given.default_seed, 0);
}

#[test]
fn clients_draw_independently() {
    let mut streams = Streams::derive(42, 3, 1, false);
    let drawn: Vec<[i64; 2]> = streams
        .clients
        .iter_mut()
        .map(|rng| [rng.range(1, 1_000_000), rng.range(1, 1_000_000)])
        .collect();
    assert_eq!(
        drawn,
        [[668251, 855542], [844242, 649374], [802035, 146794]]
    );
}

#[test]
fn scripts_are_chosen_by_weight() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    for (index, weight) in [5, 3, 0].into_iter().enumerate() {
        let name = format!("script {index}");
        let body = "\\set x random(1, 1000)";
        builder.add(&name, &name, body, weight).unwrap();
    }
    let workload = builder.finish().unwrap();
    let mut streams = Streams::derive(7, 3, 3, false);
    let drawn: Vec<Vec<(usize, i64)>> = (0..3)
        .map(|client| {
            let choice = &mut streams.threads[client].choice;
            let rng = &mut streams.clients[client];
            (0..6)
                .map(|_| (workload.choose(choice), rng.range(1, 1000)))
                .collect()
        })
        .collect();
    assert_eq!(
        drawn,
        [
            [(0, 850), (0, 364), (0, 23), (1, 939), (0, 869), (1, 395)],
            [(1, 457), (0, 558), (1, 64), (1, 78), (0, 256), (0, 720)],
            [(1, 171), (0, 79), (0, 196), (0, 412), (0, 779), (1, 536)],
        ]
    );
}

#[test]
fn a_single_script_takes_no_output() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder.add("a", "a", "select 1", 7).unwrap();
    let workload = builder.finish().unwrap();
    let mut choice = Rng::from_seed(1);
    assert_eq!(workload.choose(&mut choice), 0);
    assert_eq!(choice, Rng::from_seed(1));
}

#[test]
fn sampling() {
    let mut sampling = Streams::derive(7, 1, 1, false).threads[0].sampling;
    let logged: Vec<usize> = (1..=20).filter(|_| sampling.unit() <= 0.3).collect();
    assert_eq!(logged, [1, 2, 3, 8, 11, 13, 16, 18, 19, 20]);
}

#[test]
fn throttle_delays() {
    let mut throttle = Streams::derive(42, 1, 1, false).threads[0].throttle;
    let delays: Vec<i64> = (0..3).map(|_| throttle.poisson_delay_us(1000.0)).collect();
    assert_eq!(delays, [1500, 1567, 3049]);
}

#[test]
fn clients_are_spread_over_threads() {
    let spread: Vec<_> = clients_per_thread(5, 3).collect();
    assert_eq!(spread, [0..2, 2..4, 4..5]);
    let spread: Vec<_> = clients_per_thread(2, 9).collect();
    assert_eq!(spread, [0..1, 1..2]);
    assert_eq!(Streams::derive(1, 2, 9, false).threads.len(), 2);
    assert_eq!(clients_per_thread(0, 3).count(), 0);
}

#[test]
fn seed_options() {
    assert_eq!(parse_seed("time"), Ok(Seed::Time));
    assert_eq!(parse_seed("rand"), Ok(Seed::Rand));
    for (text, value) in [
        ("42", 42),
        (" 5", 5),
        ("+5", 5),
        ("-1", u64::MAX),
        (" -7", u64::MAX - 6),
        ("18446744073709551616", u64::MAX),
        ("-18446744073709551616", u64::MAX),
    ] {
        assert_eq!(parse_seed(text), Ok(Seed::Value(value)), "{text:?}");
    }
    for text in ["", " ", "5 ", "0x10", "TIME", "time5", "+", "--5", "5_0"] {
        let error = parse_seed(text).unwrap_err();
        let message = format!("unrecognized random seed option \"{text}\"");
        assert_eq!(error.to_string(), message);
    }
}
