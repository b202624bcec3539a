//! Variables that scripts mention and nothing sets: in the protocols extended and prepared, pgbench
//! sends NULL for them, and a misspelt name gives a run that is fast and measures nothing.

use super::spec::RunSpec;
use crate::backend::analysis;
use crate::error::{Error, Result};
use crate::options::nearest;
use selfbench_script::{Action, Mention, Protocol, Unset, Workload};
use std::fmt;

/// Fails if the scripts of a run have undefined variables.
pub fn require_none(spec: &RunSpec, workload: &Workload) -> Result<()> {
    if workload.protocol == Protocol::Simple {
        return Ok(());
    }
    // Otherwise clients may find other tables than this session does now.
    let finds_the_same = spec.target.is_none()
        && spec.run.setup.is_none()
        && spec.look_up_settings().next().is_none();
    let given = |name: &str| spec.variable(name).is_some();
    let unset = workload.unset_variables(given, |sql| match finds_the_same {
        true => analysis::columns(sql.parameterized()),
        false => Ok(None),
    })?;
    let mentions = &unset.mentions;
    let Some(first) = mentions.first() else {
        return Ok(());
    };
    let names: Vec<_> = mentions.iter().map(|m| format!("\"{}\"", m.name)).collect();
    let plural = if names.len() > 1 { "s" } else { "" };
    let places = mentions.iter().map(|mention| {
        format!(
            "Script \"{}\" mentions \"{}\" in line {}; no script sets it, nor does option \
             \"variables\".",
            mention.script.name,
            mention.name,
            mention.line()
        )
    });
    let places: Vec<String> = places.collect();
    let given = || spec.run.variables.keys().map(String::as_str);
    let remedies: Vec<_> = mentions
        .iter()
        .filter_map(|mention| remedy(mention, &unset, given()))
        .collect();
    let mut hints: Vec<_> = remedies.iter().map(Remedy::to_string).collect();
    let set = |set: &str| {
        let name = first.name;
        format!("{set} it, for example with variables => '{{\"{name}\": 1}}'.")
    };
    match remedies.first() {
        None => hints.push(set("Set")),
        Some(Remedy::Name(_)) => hints.push(set("Or set")),
        Some(Remedy::Quoted) => {}
    }
    hints.push("With undefined_variables => 'pgbench', it is NULL, as in pgbench.".into());
    Err(Error::UndefinedVariables {
        message: format!("undefined variable{plural} {}", names.join(", ")),
        detail: places.join("\n"),
        hint: hints.join(" "),
    })
}

/// Correction of a mention.
pub enum Remedy {
    /// Name that was probably meant.
    Name(String),
    /// The mention is within quotes.
    Quoted,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Name(name) => write!(f, "Perhaps you meant \":{name}\"."),
            Remedy::Quoted => f.write_str(
                "A colon before a letter is a variable within quotes, too; with protocol => 'simple', it \
                 stays as it is.",
            ),
        }
    }
}

/// Correction, if something seems to have been meant; `given` are names that are set besides those
/// of scripts.
pub fn remedy<'a>(
    mention: &Mention<'_>,
    unset: &'a Unset<'_>,
    given: impl Iterator<Item = &'a str>,
) -> Option<Remedy> {
    // A variable that the command itself sets is not what its expression reads.
    let own = match &mention.command.action {
        Action::Set(set) => Some(set.name()),
        _ => None,
    };
    let known = unset.known.iter().map(String::as_str).chain(given);
    let known = known.filter(|known| own != Some(*known));
    if let Some(name) = nearest(mention.name, known) {
        return Some(Remedy::Name(name.to_owned()));
    }
    let Action::Sql(sql) = &mention.command.action else {
        return None;
    };
    let before = &sql.text()[..mention.offset()];
    (before.matches('\'').count() % 2 == 1).then_some(Remedy::Quoted)
}
