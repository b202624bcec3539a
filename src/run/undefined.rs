//! Variables that scripts mention and nothing sets: in the protocols extended and prepared, pgbench
//! sends NULL for them, and a misspelt name gives a run that is fast and measures nothing.

use super::spec::RunSpec;
use crate::backend::analysis;
use crate::error::{Error, Result};
use crate::options::nearest;
use selfbench_script::{Action, Mention, Protocol, Unset, Workload};

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
    let mut hints: Vec<String> = mentions
        .iter()
        .filter_map(|mention| remedy(mention, &unset, given()))
        .collect();
    let set = |set: &str| {
        let name = first.name;
        format!("{set} it, for example with variables => '{{\"{name}\": 1}}'.")
    };
    match hints.first() {
        None => hints.push(set("Set")),
        Some(hint) if hint.starts_with("Perhaps") => hints.push(set("Or set")),
        Some(_) => {}
    }
    hints.push("With undefined_variables => 'pgbench', it is NULL, as in pgbench.".into());
    Err(Error::UndefinedVariables {
        message: format!("undefined variable{plural} {}", names.join(", ")),
        detail: places.join("\n"),
        hint: hints.join(" "),
    })
}

/// Correction, if something seems to have been meant; `given` are names that are set besides those
/// of scripts.
pub fn remedy<'a>(
    mention: &Mention<'_>,
    unset: &'a Unset<'_>,
    given: impl Iterator<Item = &'a str>,
) -> Option<String> {
    // A variable that the command itself sets is not what its expression reads.
    let own = match &mention.command.action {
        Action::Set(_) => mention.command.text.split_whitespace().nth(1),
        _ => None,
    };
    let known = unset.known.iter().map(String::as_str).chain(given);
    let known = known.filter(|known| own != Some(*known));
    if let Some(name) = nearest(mention.name, known) {
        return Some(format!("Perhaps you meant \":{name}\"."));
    }
    let Action::Sql(sql) = &mention.command.action else {
        return None;
    };
    let before = &sql.text()[..mention.offset()];
    (before.matches('\'').count() % 2 == 1).then(|| {
        "A colon before a letter is a variable within quotes, too; with protocol => 'simple', it \
         stays as it is."
            .into()
    })
}
