//! The set of scripts of a run, and the builder that collects it from texts.

use crate::budget::Budget;
use crate::dialect::Dialect;
use crate::error::{ScriptError, WeightError, WorkloadError};
use crate::limits::MAX_SCRIPTS;
use crate::parse::parse_script;
use crate::protocol::Protocol;
use crate::rng::Rng;
use crate::script::{Action, Command, Script, SqlCommand};
use crate::symbols::{Slot, Symbols};
use crate::values::{UsedSet, number_sets};
use std::collections::{BTreeMap, HashSet};

/// The scripts of a run and the variables that they mention.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The scripts, at least one, in the order in which they were given.
    pub scripts: Vec<Script>,
    /// The names of the variables.
    pub symbols: Symbols,
    /// The number of SQL commands in all scripts; they are numbered from 0.
    pub sql_commands: usize,
    /// The value sets that they draw from.
    pub value_sets: Vec<UsedSet>,
    /// The sum of the scripts' weights, at least 1.
    pub total_weight: i64,
    /// The protocol that the scripts were parsed for.
    pub protocol: Protocol,
}

/// Variables that are read and never set; see [`Workload::unset_variables`].
#[derive(Clone, Debug)]
pub struct Unset<'w> {
    /// First mention of each, in the order of the scripts.
    pub mentions: Vec<Mention<'w>>,
    /// Names that are set: automatic ones, and those that scripts set as far as they had to be known.
    pub known: Vec<String>,
}

/// Position of a mention of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Mention<'w> {
    /// Its name.
    pub name: &'w str,
    slot: Slot,
    /// The script.
    pub script: &'w Script,
    /// The command.
    pub command: &'w Command,
}

impl Mention<'_> {
    /// Its offset in the text of a statement; 0 in a meta command.
    pub fn offset(&self) -> usize {
        match &self.command.action {
            Action::Sql(sql) => sql.offset_of(self.slot).unwrap_or(0),
            _ => 0,
        }
    }

    /// The line of the script that it is in, from 1.
    pub fn line(&self) -> usize {
        let before = &self.command.text[..self.offset()];
        self.command.line + before.matches('\n').count()
    }
}

impl Workload {
    /// Whether some script runs programs, by `\shell` or `\setshell`.
    pub fn runs_programs(&self) -> bool {
        self.scripts
            .iter()
            .flat_map(|script| &script.commands)
            .any(|command| matches!(command.action, Action::Shell(_) | Action::SetShell(_)))
    }

    /// The variables that commands read, and that neither `given` has nor any script can set,
    /// automatic ones aside. `columns` tells the names of a statement's columns, which `\gset` and
    /// `\aset` set, or `None` if it may be any; it is called only for statements on which the result
    /// depends.
    ///
    /// # Errors
    /// Errors of `columns`.
    pub fn unset_variables<E>(
        &self,
        given: impl Fn(&str) -> bool,
        mut columns: impl FnMut(&SqlCommand) -> Result<Option<Vec<String>>, E>,
    ) -> Result<Unset<'_>, E> {
        let mut known: BTreeMap<Slot, &str> = self.symbols.automatic().collect();
        let mut stores = Vec::new();
        for (_, command) in self.each_command() {
            let target = match &command.action {
                Action::Set(set) => &set.target,
                Action::Template(template) => &template.target,
                Action::SetShell(shell) => &shell.target,
                Action::Values(values) => {
                    let names = values.targets().iter();
                    known.extend(names.map(|slot| (*slot, self.symbols.name(*slot))));
                    continue;
                }
                Action::Sql(sql) => {
                    stores.extend(sql.store.as_ref().map(|store| (sql, store)));
                    continue;
                }
                _ => continue,
            };
            known.extend(target.slot().map(|slot| (slot, self.symbols.name(slot))));
        }
        let mut unset: Vec<Mention<'_>> = Vec::new();
        let mut seen = HashSet::new();
        for (script, command) in self.each_command() {
            for slot in command.action.reads() {
                let name = self.symbols.name(slot);
                if !known.contains_key(&slot) && !given(name) && seen.insert(slot) {
                    unset.push(Mention {
                        name,
                        slot,
                        script,
                        command,
                    });
                }
            }
        }
        let mut known: Vec<String> = known.into_values().map(str::to_owned).collect();
        for (sql, store) in stores {
            let is_candidate = |mention: &Mention<'_>| mention.name.starts_with(&store.prefix);
            if !unset.iter().any(is_candidate) {
                continue;
            }
            match columns(sql)? {
                None => unset.retain(|mention| !is_candidate(mention)),
                Some(columns) => {
                    let names = columns
                        .iter()
                        .map(|column| format!("{}{column}", store.prefix));
                    known.extend(names);
                    unset.retain(|mention| !known.iter().any(|name| name == mention.name));
                }
            }
        }
        Ok(Unset {
            mentions: unset,
            known,
        })
    }

    /// Each command, with its script.
    pub fn each_command(&self) -> impl Iterator<Item = (&Script, &Command)> {
        let scripts = self.scripts.iter();
        scripts.flat_map(|script| script.commands.iter().map(move |command| (script, command)))
    }

    /// The number of commands in all scripts.
    pub fn commands(&self) -> usize {
        self.scripts
            .iter()
            .map(|script| script.commands.len())
            .sum()
    }

    /// Chooses the script of the next transaction, with the scripts' weights as probabilities.
    /// Takes one output of `choice`, or none if there is only one script.
    pub fn choose(&self, choice: &mut Rng) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let mut rest = choice.range(0, self.total_weight - 1);
        for (index, script) in self.scripts.iter().enumerate() {
            rest -= script.weight;
            if rest < 0 {
                return index;
            }
        }
        self.scripts.len() - 1
    }
}

/// Collects the scripts of a run.
#[derive(Clone, Debug)]
pub struct WorkloadBuilder {
    workload: Workload,
    dialect: Dialect,
    budget: Budget,
}

impl WorkloadBuilder {
    /// Without scripts so far; `protocol` decides whether the limit on parameters applies.
    pub fn new(protocol: Protocol) -> Self {
        Self::checking(protocol, || {})
    }

    /// Creates a builder with a function that is called for each parsed command, so that a long
    /// script does not keep its caller from handling interrupts. It may unwind.
    pub fn checking(protocol: Protocol, check: fn()) -> Self {
        Self {
            budget: Budget::new(check),
            dialect: Dialect::Extended,
            workload: Workload {
                scripts: Vec::new(),
                symbols: Symbols::new(),
                sql_commands: 0,
                value_sets: Vec::new(),
                total_weight: 0,
                protocol,
            },
        }
    }

    /// The builder for scripts in that dialect; without it, [`Dialect::Extended`].
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Parses a script and adds it. `name` is what it was asked for by, `description` what
    /// reports and errors call it: the file name, or a builtin's description. `weight` is its
    /// relative frequency, within 0 and 2^31 - 1.
    ///
    /// # Errors
    /// If the script has an error or no command, is one too many, or if all scripts together are
    /// larger than [`MAX_SCRIPT_BYTES`](crate::MAX_SCRIPT_BYTES) and
    /// [`MAX_ELEMENTS`](crate::MAX_ELEMENTS) allow. The builder is then of no further use.
    pub fn add(
        &mut self,
        name: &str,
        description: &str,
        body: &str,
        weight: i64,
    ) -> Result<(), ScriptError> {
        let workload = &mut self.workload;
        if workload.scripts.len() == MAX_SCRIPTS {
            let message = WorkloadError::TooManyScripts.to_string();
            return Err(ScriptError::general(description, &message));
        }
        if !(0..=i64::from(i32::MAX)).contains(&weight) {
            let message = WeightError::OutOfRange(weight).to_string();
            return Err(ScriptError::general(description, &message));
        }
        let mut commands = parse_script(
            description,
            body,
            workload.protocol,
            self.dialect,
            &mut workload.symbols,
            &mut workload.sql_commands,
            &mut self.budget,
        )?;
        number_sets(&mut commands, &mut workload.value_sets);
        workload.total_weight += weight;
        workload.scripts.push(Script {
            name: name.to_owned(),
            description: description.to_owned(),
            weight,
            commands,
            rolled_back: None,
            limit_ns: None,
        });
        Ok(())
    }

    /// Makes a variable tell whether a transaction of the script that was added last was rolled back
    /// on purpose, if the script sets it by `\set`.
    pub fn rolls_back_by(&mut self, variable: &str) {
        let Workload {
            scripts, symbols, ..
        } = &mut self.workload;
        if let (Some(script), Some(slot)) = (scripts.last_mut(), symbols.find(variable)) {
            let sets = |command: &Command| match &command.action {
                Action::Set(set) => set.target.slot().is_ok_and(|target| target == slot),
                _ => false,
            };
            script.rolled_back = script.commands.iter().any(sets).then_some(slot);
        }
    }

    /// Has transactions of the script that was added last counted whose response time, the latency without
    /// `\sleep`, is above a limit.
    pub fn limits_response(&mut self, limit_ns: u64) {
        if let Some(script) = self.workload.scripts.last_mut() {
            script.limit_ns = Some(limit_ns);
        }
    }

    /// The finished set of scripts.
    ///
    /// # Errors
    /// If the weights sum up to zero, as they do without scripts.
    pub fn finish(self) -> Result<Workload, ScriptError> {
        if self.workload.total_weight == 0 {
            return Err(ScriptError {
                hint: Some("Give a weight greater than zero to at least one script.".into()),
                ..ScriptError::general("", &WorkloadError::ZeroWeight.to_string())
            });
        }
        Ok(self.workload)
    }
}
