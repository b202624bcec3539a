//! Reports of benchmark runs.
