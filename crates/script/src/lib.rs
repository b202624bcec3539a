//! pgbench's script language: text to commands, expressions, variables and random numbers.
