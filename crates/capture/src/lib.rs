//! Workloads made from what pg_stat_statements knows: its texts repaired so that they parse again, and
//! scripts of transactions made of its statements. Nothing here knows a server.

mod repair;
mod script;
mod tokens;
mod transactions;

pub use repair::{is_key_check, is_query, repair};
pub use script::{Step, body, statement};
pub use tokens::{Kind, MAX_PARAMETERS, Token, tokens};
pub use transactions::{MOST_STATEMENTS, Plan, Rates, Share, arrange, settled_commits};
