//! A server setting under which a run took place.

/// One setting under which a run took place.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Source of the value, as in `pg_settings.source`.
    pub source: String,
}
