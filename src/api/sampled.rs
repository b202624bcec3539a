//! `bench_internal.sample_session`.

use crate::check;
use crate::error::OrRaise;
use crate::worker::clients::sampled;
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn sample_session(segment: Option<i64>, secret: Option<i64>, client: Option<i64>) {
    (|| {
        let segment = check::argument("segment", segment)?;
        let secret = check::argument("secret", secret)?;
        let client = check::argument("client", client)?;
        sampled::sample_session(
            u32::try_from(segment).unwrap_or(0),
            secret as u64,
            usize::try_from(client).unwrap_or(usize::MAX),
        )
    })()
    .or_raise();
}
