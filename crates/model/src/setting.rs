//! A server setting under which a run took place.

/// One setting under which a run took place.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value came from, as `pg_settings.source` says.
    pub source: String,
}
