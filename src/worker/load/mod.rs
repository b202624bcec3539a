//! Initializations: creating and filling tables.
//!
//! | file | content |
//! |---|---|
//! | `loader` | process for an initialization |
//! | `fill` | filling of tables, by pages or by COPY |
//! | `page_worker` | process that fills pages, and its start |

mod fill;
pub mod loader;
mod page_worker;
