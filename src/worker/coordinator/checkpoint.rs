//! The checkpoint before a run: all runs that begin with one are equally far from the next one, and
//! write full-page images again.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::run::RunSpec;
use crate::shared::{Segment, Stop};
use crate::worker::activity::show;

/// The first version of the server with a role that may request checkpoints.
const FIRST_WITH_ROLE: i32 = 150_000;

/// Fails if the run wants a checkpoint and the role may not request it in the database.
pub fn require_right(spec: &RunSpec, database: &mut Database) -> Result<()> {
    if !spec.run.checkpoint {
        return Ok(());
    }
    let query = match database.version_num() >= FIRST_WITH_ROLE {
        true => "SELECT pg_catalog.pg_has_role('pg_checkpoint', 'USAGE')::pg_catalog.text",
        false => {
            "SELECT r.rolsuper::pg_catalog.text FROM pg_catalog.pg_roles r
              WHERE r.rolname OPERATOR(pg_catalog.=) CURRENT_USER"
        }
    };
    let may = database.first_row(query)?.into_iter().next().flatten();
    match may.as_deref() {
        Some("true") => Ok(()),
        _ => Err(Error::Denied {
            what: "option \"checkpoint\"".into(),
            hint: "Only roles with privileges of the \"pg_checkpoint\" role of the server where \
                   the run takes place may request a checkpoint; before PostgreSQL 15, only \
                   superusers."
                .into(),
        }),
    }
}

/// Requests the checkpoint if the run wants one, and waits for its end. On a standby, it is a
/// restartpoint.
pub fn request(segment: &Segment, spec: &RunSpec, database: &mut Database) -> Result<()> {
    if !spec.run.checkpoint || segment.header().stop() != Stop::No {
        return Ok(());
    }
    show(segment.header(), "checkpoint");
    database.execute_alone("CHECKPOINT")
}
