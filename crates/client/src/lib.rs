//! The state machine of one benchmark client.
