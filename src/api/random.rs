//! Random values for rows of workloads, and a hash.

use crate::error::Error;
use pgrx::prelude::*;
use selfbench_workload::random::{self, RandomError};

fn or_raise<T>(value: Result<T, RandomError>) -> T {
    value.unwrap_or_else(|error| {
        let sqlstate = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
        Error::server(sqlstate, error.to_string()).raise()
    })
}

#[pg_extern(sql = false)]
fn random_int(seed: i64, stream: i32, row: i64, lo: i64, hi: i64) -> i64 {
    or_raise(random::int(seed, stream, row, lo, hi))
}

#[pg_extern(sql = false)]
fn random_real(seed: i64, stream: i32, row: i64) -> f64 {
    random::real(seed, stream, row)
}

#[pg_extern(sql = false)]
fn random_text(seed: i64, stream: i32, row: i64, min: i32, max: i32) -> String {
    or_raise(random::text(seed, stream, row, min, max))
}

#[pg_extern(sql = false)]
fn random_template(seed: i64, stream: i32, row: i64, template: &str) -> String {
    if template.len() > random::MAX_LENGTH as usize {
        let sqlstate = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
        let message = format!("a template has at most {} bytes", random::MAX_LENGTH);
        Error::server(sqlstate, message).raise();
    }
    random::template(seed, stream, row, template)
}

#[pg_extern(sql = false)]
fn random_permutation(seed: i64, stream: i32, n: i64, row: i64) -> i64 {
    or_raise(random::permutation(seed, stream, n, row))
}

#[pg_extern(sql = false)]
fn random_special(seed: i64, stream: i32, row: i64, lo: i64, hi: i64) -> i64 {
    or_raise(random::special(seed, stream, row, lo, hi))
}

#[pg_extern(sql = false)]
fn random_nurand(seed: i64, stream: i32, row: i64, a: i64, lo: i64, hi: i64, c: i64) -> i64 {
    or_raise(random::nurand(seed, stream, row, a, (lo, hi), c))
}

#[pg_extern(sql = false)]
fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    random::fnv1a(value, seed)
}
