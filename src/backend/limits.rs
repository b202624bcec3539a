//! Limits of what roles may ask of runs: settings that only superusers change.
//!
//! A new worker judges before it takes over settings of its caller, so neither a startup packet nor SET reaches it. It
//! reads what the configuration files say before it connects, and then what ALTER ROLE and ALTER DATABASE have stored,
//! for the session user and the current role of the call. The stricter of both holds.
//!
//! Before a library defines a setting, it can have any value, and the server only warns of one that is not valid when
//! the library does. So such a value is looked for there, and wherever it is stored, it allows no run.
//!
//! The caller's session can only foresee that.

use super::identity::Identity;
use super::transaction::transaction;
use crate::error::{Error, Report, Result};
use crate::query;
use crate::security::with_pinned_settings;
use crate::state::lock::{Object, Until};
use crate::state::session;
use crate::state::transaction::InTransaction;
use pgrx::PgSqlErrorCode as Sqlstate;
use pgrx::pg_sys;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// Kinds of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Clients of a run.
    Clients,
    /// Seconds of a run, its warm-up included.
    Duration,
    /// Transactions that the log of a run has.
    RowsLogged,
    /// Runs in progress of a session user, in all databases.
    ConcurrentRuns,
    /// Profiles.
    Profile,
}

/// A setting that is a limit.
struct Setting {
    limited: Limited,
    name: &'static CStr,
    description: &'static CStr,
    value: Value,
    /// Value that it had before it was defined, if that is not valid.
    invalid: OnceLock<String>,
}

enum Value {
    /// A number, or -1 for no limit.
    Number(GucSetting<i32>, GucFlags),
    /// Whether it is allowed.
    Allowed(GucSetting<bool>),
}

impl Value {
    const fn number(unit: GucFlags) -> Value {
        Value::Number(GucSetting::<i32>::new(-1), unit)
    }
}

/// All limits.
static SETTINGS: [Setting; 5] = [
    Setting {
        limited: Limited::Clients,
        name: c"pg_selfbench.max_clients",
        description: c"Sets the maximum number of clients of a run.",
        value: Value::number(GucFlags::empty()),
        invalid: OnceLock::new(),
    },
    Setting {
        limited: Limited::Duration,
        name: c"pg_selfbench.max_duration",
        description: c"Sets the maximum duration of a run, including its warm-up.",
        value: Value::number(GucFlags::UNIT_S),
        invalid: OnceLock::new(),
    },
    Setting {
        limited: Limited::RowsLogged,
        name: c"pg_selfbench.max_rows_logged",
        description: c"Sets the maximum number of transactions in the log of a run.",
        value: Value::number(GucFlags::empty()),
        invalid: OnceLock::new(),
    },
    Setting {
        limited: Limited::ConcurrentRuns,
        name: c"pg_selfbench.max_concurrent_runs",
        description: c"Sets the maximum number of runs of a session user at the same time.",
        value: Value::number(GucFlags::empty()),
        invalid: OnceLock::new(),
    },
    Setting {
        limited: Limited::Profile,
        name: c"pg_selfbench.allow_profile",
        description: c"Allows runs with a profile.",
        value: Value::Allowed(GucSetting::<bool>::new(true)),
        invalid: OnceLock::new(),
    },
];

/// Defines the settings, when the library is loaded.
pub fn define() {
    let before = SETTINGS
        .iter()
        .map(|setting| (setting, session::text_of(setting.name)));
    let before: Vec<(&Setting, Option<CString>)> = before.collect();
    for Setting {
        name,
        description,
        value,
        ..
    } in &SETTINGS
    {
        let context = GucContext::Suset;
        match value {
            Value::Number(value, unit) => {
                let long = c"-1 means no limit.";
                let max = i32::MAX;
                GucRegistry::define_int_guc(
                    name,
                    description,
                    long,
                    value,
                    -1,
                    max,
                    context,
                    *unit,
                );
            }
            Value::Allowed(value) => {
                let flags = GucFlags::empty();
                GucRegistry::define_bool_guc(name, description, c"", value, context, flags);
            }
        }
    }
    session::reserve_settings(c"pg_selfbench");
    for (setting, value) in before {
        if let Some(value) = value.filter(|value| !session::is_valid(setting.name, value)) {
            let _ = setting.invalid.set(value.to_string_lossy().into_owned());
        }
    }
}

impl Setting {
    /// Its value in this process: the greatest number that is allowed; `None` is no limit.
    fn limit(&self) -> Option<u32> {
        match &self.value {
            Value::Number(value, _) => u32::try_from(value.get()).ok(),
            Value::Allowed(value) => (!value.get()).then_some(0),
        }
    }

    /// Limit with a stored value; `None` if that is not valid.
    fn limit_with(&self, now: InTransaction, value: &str) -> Option<Option<u32>> {
        let value = CString::new(value).unwrap_or_default();
        session::is_valid(self.name, &value).then(|| {
            let limit = || Ok::<_, Infallible>(self.limit());
            session::with_settings(now, &[(self.name, &value)], limit).unwrap_or_default()
        })
    }

    /// Error of a value that is not valid.
    fn error(&self, value: &str, role: &str, place: &str) -> Error {
        let name = self.name();
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        let report = Report {
            detail: Some(format!("{} No run is allowed.", whose(role, place))),
            hint: Some("A superuser can correct or remove the value.".into()),
            ..Report::new(Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE, message)
        };
        report.into()
    }

    fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// A value as messages show it.
    fn shown(&self, limit: u32) -> String {
        match &self.value {
            Value::Number(_, unit) if unit.contains(GucFlags::UNIT_S) => format!("{limit} s"),
            Value::Number(..) => limit.to_string(),
            Value::Allowed(_) => "off".into(),
        }
    }
}

/// Demands of a run.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Number of clients.
    pub clients: u32,
    /// Seconds, with the longest warm-up; `None`: until its transactions are done.
    pub duration_s: Option<f64>,
    /// Number of transactions in its log, if it is known.
    pub rows_logged: Option<u64>,
    /// Whether it has a profile.
    pub profile: bool,
}

/// A limit where nothing is stored for roles and databases.
#[derive(Clone, Copy)]
pub struct Default {
    setting: &'static Setting,
    /// The limit, or a value that is not valid.
    limit: Result<Option<u32>, &'static str>,
}

/// Defaults of this process: of the configuration files in a worker that has not connected yet.
pub fn defaults() -> Vec<Default> {
    let default = |setting: &'static Setting| {
        // Where the server has loaded the library at its start, the file may have been mended since.
        let limit = match (setting.limit(), setting.invalid.get()) {
            (None, Some(invalid)) => Err(invalid.as_str()),
            (limit, _) => Ok(limit),
        };
        Default { setting, limit }
    };
    SETTINGS.iter().map(default).collect()
}

/// Fails if a run of this session asks for more than its worker will allow, as far as is known.
pub fn foresee(asked: &[Asked]) -> Result<()> {
    // A value that is not valid may be the session's own.
    let mut defaults = defaults();
    for default in &mut defaults {
        default.limit = Ok(default.limit.unwrap_or_default());
    }
    let limits = Limits::of(Identity::current(), &defaults)?;
    asked.iter().try_for_each(|asked| limits.require(asked))
}

/// The limits of a call.
pub struct Limits(Vec<Limit>);

/// A limit, the role whose it is, and where it is set.
struct Limit {
    setting: &'static Setting,
    most: u32,
    role: String,
    place: String,
}

/// Place of limits of which no value is stored.
const FILE: &str = "the configuration file";

impl Limits {
    /// The limits of a call with that identity.
    ///
    /// Must be called in a transaction.
    ///
    /// # Errors
    /// If a stored value is not valid, or its name is that of no setting.
    pub fn of(identity: Identity, defaults: &[Default]) -> Result<Limits> {
        // Of values with the same name, the last one counts: the order is that in which a session applies them.
        let sql = format!(
            "SELECT pg_get_userbyid(r.role)::text,
                    (SELECT jsonb_object_agg(lower(split_part(c.line, '=', 1)),
                                             jsonb_build_array(substr(c.line, strpos(c.line, '=') + 1),
                                                 CASE WHEN s.setrole <> 0 THEN format('ALTER ROLE %I', pg_get_userbyid(s.setrole))
                                                      WHEN s.setdatabase = 0 THEN 'ALTER ROLE ALL' ELSE 'ALTER DATABASE' END
                                                 || CASE WHEN s.setrole <> 0 AND s.setdatabase <> 0 THEN ' IN DATABASE' ELSE '' END
                                                 || CASE WHEN s.setdatabase <> 0 THEN format(' %I', current_database()) ELSE '' END)
                                             ORDER BY s.setrole <> 0, s.setdatabase <> 0, c.n)::text
                       FROM pg_db_role_setting s, unnest(s.setconfig) WITH ORDINALITY c (line, n)
                      WHERE s.setrole IN (0, r.role) AND s.setdatabase IN (0, {}) AND lower(c.line) LIKE 'pg\\_selfbench.%')
               FROM unnest('{{{},{}}}'::oid[]) WITH ORDINALITY r (role, n)
              ORDER BY r.n",
            identity.database, identity.session_role, identity.role
        );
        let now = InTransaction::current()?;
        let mut limits: Vec<Limit> = Vec::new();
        for row in with_pinned_settings(|| query::rows_of_texts(&sql))? {
            let [Some(role), stored] = row.as_slice() else {
                return Err(Error::Limit("cannot read limits: no name of a role".into()));
            };
            let stored = stored.as_deref().unwrap_or("{}");
            let stored: BTreeMap<String, (String, String)> = serde_json::from_str(stored)
                .map_err(|e| Error::Limit(format!("cannot read limits: {e}")))?;
            let is_known = |name: &str| SETTINGS.iter().any(|setting| setting.name() == name);
            if let Some(name) = stored.keys().find(|name| !is_known(name)) {
                return Err(Error::server(
                    Sqlstate::ERRCODE_UNDEFINED_OBJECT,
                    format!("unrecognized configuration parameter \"{name}\" of role \"{role}\""),
                ));
            }
            for Default { setting, limit } in defaults {
                let (most, place) = match stored.get(setting.name()) {
                    None => (*limit, FILE),
                    Some((value, by)) => {
                        let most = setting.limit_with(now, value);
                        (most.ok_or(value.as_str()), by.as_str())
                    }
                };
                let most = most.map_err(|value| setting.error(value, role, place))?;
                limits.extend(most.map(|most| Limit {
                    setting,
                    most,
                    role: role.clone(),
                    place: place.to_owned(),
                }));
            }
        }
        Ok(Limits(limits))
    }

    /// The greatest number that is allowed; `None` is no limit.
    pub fn most(&self, limited: Limited) -> Option<u32> {
        self.limit(limited).map(|limit| limit.most)
    }

    /// Error of what exceeds a limit, in words.
    pub fn exceeded(&self, limited: Limited, what: String) -> Error {
        match self.limit(limited) {
            None => Error::Limit(what),
            Some(limit) => {
                let setting = limit.setting;
                let (name, most) = (setting.name(), setting.shown(limit.most));
                let is_zero_s = limited == Limited::Duration && limit.most == 0;
                Error::LimitExceeded {
                    message: match setting.value {
                        Value::Allowed(_) => format!("{what} is not allowed by \"{name}\""),
                        Value::Number(..) => format!("{what} exceeds limit \"{name}\" ({most})"),
                    },
                    detail: whose(&limit.role, &limit.place)
                        + match is_zero_s {
                            true => " It is rounded to whole seconds; 0 allows no run.",
                            false => "",
                        },
                    setting: name,
                    runs: limited == Limited::ConcurrentRuns,
                }
            }
        }
    }

    /// Fails if a run asks for more than is allowed.
    pub fn require(&self, asked: &Asked) -> Result<()> {
        let fails = |limited, number: f64, what: String| match self.most(limited) {
            Some(most) if number > f64::from(most) => Err(self.exceeded(limited, what)),
            _ => Ok(()),
        };
        let clients = asked.clients;
        let what = format!("number of clients ({clients})");
        fails(Limited::Clients, f64::from(clients), what)?;
        let seconds = asked.duration_s.unwrap_or_default();
        let what = format!("duration of the run with its warm-up ({seconds} s)");
        fails(Limited::Duration, seconds, what)?;
        let rows = asked.rows_logged.unwrap_or_default();
        let what = format!("number of transactions in the log ({rows})");
        fails(Limited::RowsLogged, rows as f64, what)?;
        fails(
            Limited::Profile,
            f64::from(u8::from(asked.profile)),
            "option \"profile\"".into(),
        )
    }

    /// The strictest limit of that kind; of equal ones, that of the session user.
    fn limit(&self, limited: Limited) -> Option<&Limit> {
        let of_kind = self
            .0
            .iter()
            .filter(|limit| limit.setting.limited == limited);
        of_kind.min_by_key(|limit| limit.most)
    }

    /// Counts a run among those of its session user, until this process [leaves](leave) or exits. Two that begin at the
    /// same time count one after the other. Does nothing if it still counts: `pg_advisory_unlock_all`, which a trigger of
    /// the caller's may call, ends that. So this is called again behind what may fire one.
    pub fn enter(&self, identity: Identity) -> Result<()> {
        let user = pg_sys::Oid::from(identity.session_role);
        transaction(|| {
            let now = InTransaction::current()?;
            if Object::Run(user).is_locked_here(now)? {
                return Ok(());
            }
            Object::Count(user).lock(now, Until::TransactionEnd, true)?;
            if let Some(most) = self.most(Limited::ConcurrentRuns) {
                let runs = Object::Run(user).holders(now)? + 1;
                if runs > most as usize {
                    let what = format!("number of runs at the same time ({runs})");
                    return Err(self.exceeded(Limited::ConcurrentRuns, what));
                }
            }
            Object::Run(user).lock(now, Until::Exit, true).map(drop)
        })
    }
}

/// Whose a limit is, and where it is set, as a sentence.
fn whose(role: &str, place: &str) -> String {
    match place {
        FILE => format!("It is the limit of role \"{role}\", set in {FILE}."),
        by => format!("It is the limit of role \"{role}\", set by {by} SET."),
    }
}

/// Ends what [`Limits::enter`] has begun.
pub fn leave(identity: Identity) -> Result<()> {
    let user = pg_sys::Oid::from(identity.session_role);
    transaction(|| {
        let now = InTransaction::current()?;
        match Object::Run(user).is_locked_here(now)? {
            true => Object::Run(user).unlock(now),
            false => Ok(()),
        }
    })
}
