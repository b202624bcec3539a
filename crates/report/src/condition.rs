//! Conditions on figures, such as `latency_p99_ms < 20`: reading them, and checking them.
//!
//! ```text
//! condition  =  [ arm ":" ] figure operator value
//! arm        =  word  |  "text"
//! figure     =  word  |  "p(" number ")"
//! operator   =  "<"  |  "<="  |  ">"  |  ">="  |  "="  |  "<>"
//! value      =  number  |  word  |  'text'
//! ```
//!
//! A word begins with a letter or an underscore, which digits, dots and hyphens may follow too. Within
//! quotes, a doubled quote stands for one. Spaces do not count outside of quotes. A text compares by
//! `=` and `<>` alone. No condition holds for a figure that is not known.

use crate::number::shortest;
use serde_json::{Map, Value as Json};
use thiserror::Error;

mod lexer;

use lexer::{Lexer, Token};

/// Form of a condition, for hints.
pub const EXAMPLE: &str = "A condition is a figure, one of < <= > >= = <>, and a value, such as \
                           \"latency_p99_ms < 20\", \"p(99.9) < 20\" or \"state = finished\".";

/// Figures that compare an arm with the baseline.
const COMPARED: [&str; 5] = [
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "scripts_ratio",
];

/// Why a condition cannot be checked.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConditionError {
    /// Not a condition.
    #[error("invalid condition \"{condition}\"")]
    Syntax {
        /// Its text, abridged.
        condition: String,
        /// Expected syntax and its position: a sentence.
        expected: String,
    },
    /// Unknown figure.
    #[error("figure \"{figure}\" does not exist")]
    UnknownFigure {
        /// Its name.
        figure: String,
        /// The names that are most like it or, if none is, all: a sentence.
        known: String,
    },
    /// The figure cannot be compared with the value in that way.
    #[error("invalid condition \"{condition}\"")]
    Mismatch {
        /// Its text, abridged.
        condition: String,
        /// A sentence that says why.
        why: String,
    },
    /// Unknown arm.
    #[error("arm \"{arm}\" does not exist")]
    UnknownArm {
        /// Its name.
        arm: String,
        /// The names that there are: a sentence.
        known: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Operator {
    fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
        }
    }

    fn is_of_texts(self) -> bool {
        matches!(self, Operator::Equal | Operator::NotEqual)
    }
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    arm: Option<String>,
    figure: String,
    percentile: Option<f64>,
    operator: Operator,
    /// Value as written, without quotes; and as a number, if it is one.
    value: (String, Option<f64>),
}

/// The figures of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Its name, which may be any text.
    pub name: String,
    /// Whether it is what the others are compared with.
    pub is_baseline: bool,
    /// Its figures by name.
    pub figures: Map<String, Json>,
}

/// Measured value of a condition, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The condition; that of an arm begins with its name.
    pub condition: String,
    /// The figure; `None` if it is not known.
    pub measured: Option<String>,
    /// Whether the condition holds.
    pub met: bool,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// [`ConditionError::Syntax`].
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let mut lexer = Lexer::new(text);
        let arm = lexer.arm()?;
        let (figure, percentile) = match lexer.next("a figure")? {
            Token::Word(word) if word == "p" && lexer.takes(&Token::Open)? => {
                let p = match lexer.next("a percentile from 0 to 100")? {
                    Token::Number(_, p) if (0.0..=100.0).contains(&p) => p,
                    _ => return Err(lexer.expected("a percentile from 0 to 100")),
                };
                if !lexer.takes(&Token::Close)? {
                    lexer.next("a closing parenthesis")?;
                    return Err(lexer.expected("a closing parenthesis"));
                }
                (percentile_name(p), Some(p))
            }
            Token::Word(word) => (word, None),
            _ => return Err(lexer.expected("a figure")),
        };
        let operator = match lexer.next("one of < <= > >= = <>")? {
            Token::Operator(operator) => operator,
            _ => return Err(lexer.expected("one of < <= > >= = <>")),
        };
        let value = match lexer.next("a value")? {
            Token::Number(text, number) => (text, Some(number)),
            Token::Word(text) | Token::Text(text) => (text, None),
            _ => return Err(lexer.expected("a value")),
        };
        lexer.end()?;
        Ok(Condition {
            text: text.trim().to_owned(),
            arm,
            figure,
            percentile,
            operator,
            value,
        })
    }

    /// The percentile of the latency that the condition is about, if it is about one: it must be
    /// among the figures under the name that [`percentile_name`] returns.
    pub fn percentile(&self) -> Option<f64> {
        self.percentile
    }

    /// Fails if the condition is one of an arm.
    ///
    /// # Errors
    /// [`ConditionError::Mismatch`].
    pub fn require_no_arm(&self) -> Result<(), ConditionError> {
        match &self.arm {
            None => Ok(()),
            Some(arm) => Err(self.mismatch(format!("A run has no arm \"{}\".", abridged(arm)))),
        }
    }

    /// Checks the condition against figures by name.
    ///
    /// # Errors
    /// [`ConditionError::UnknownFigure`], and [`ConditionError::Mismatch`] if a number and a text were
    /// to be compared.
    pub fn check(&self, figures: &Map<String, Json>) -> Result<Outcome, ConditionError> {
        let figure = figures.get(&self.figure).filter(|figure| is_single(figure));
        let Some(figure) = figure else {
            return Err(self.unknown_figure(figures));
        };
        let (wanted, number) = (&self.value.0, self.value.1);
        let (measured, met) = match figure {
            Json::Number(figure) => {
                let figure = figure.as_f64().unwrap_or(f64::NAN);
                let Some(number) = number else {
                    return Err(self.mismatch(format!("Figure \"{}\" is a number.", self.figure)));
                };
                (shortest(figure), self.operator.holds(&figure, &number))
            }
            Json::String(_) | Json::Bool(_) => {
                let figure = match figure {
                    Json::String(text) => text.clone(),
                    other => other.to_string(),
                };
                if !self.operator.is_of_texts() {
                    return Err(self.mismatch(format!(
                        "Figure \"{}\" is not a number: only = and <> apply.",
                        self.figure
                    )));
                }
                let met = self.operator.holds(&figure.as_str(), &wanted.as_str());
                (figure, met)
            }
            _ => return Ok(self.outcome(None, false)),
        };
        Ok(self.outcome(Some(measured), met))
    }

    /// Checks the condition against the figures of arms: of the one that it names or, if it names
    /// none, of each. The baseline is not compared with itself.
    ///
    /// # Errors
    /// Errors of [`check`](Self::check), and [`ConditionError::UnknownArm`].
    pub fn check_arms(&self, arms: &[Arm]) -> Result<Vec<Outcome>, ConditionError> {
        let Some(arm) = &self.arm else {
            let outcomes: Vec<Outcome> = arms
                .iter()
                .filter(|arm| !(arm.is_baseline && COMPARED.contains(&self.figure.as_str())))
                .map(|arm| {
                    let outcome = self.check(&arm.figures)?;
                    Ok(Outcome {
                        condition: format!("{}: {}", quoted(&arm.name), outcome.condition),
                        ..outcome
                    })
                })
                .collect::<Result<_, _>>()?;
            return match outcomes.is_empty() {
                true => Err(self.mismatch("There is no arm to check it on.".into())),
                false => Ok(outcomes),
            };
        };
        match arms.iter().find(|known| known.name == *arm) {
            Some(arm) => Ok(vec![self.check(&arm.figures)?]),
            None => Err(ConditionError::UnknownArm {
                arm: abridged(arm),
                known: sentence("Arms are", arms.iter().map(|arm| quoted(&arm.name))),
            }),
        }
    }

    fn outcome(&self, measured: Option<String>, met: bool) -> Outcome {
        Outcome {
            condition: self.text.clone(),
            measured,
            met,
        }
    }

    fn mismatch(&self, why: String) -> ConditionError {
        ConditionError::Mismatch {
            condition: abridged(&self.text),
            why,
        }
    }

    fn unknown_figure(&self, figures: &Map<String, Json>) -> ConditionError {
        let names = figures.iter().filter(|(_, figure)| is_single(figure));
        let names = names.map(|(name, _)| name.as_str());
        ConditionError::UnknownFigure {
            figure: abridged(&self.figure),
            known: similar(&self.figure, names),
        }
    }
}

/// The name of a percentile among figures.
pub fn percentile_name(p: f64) -> String {
    format!("p({})", shortest(p))
}

/// Outcomes as lines for people: each condition, what was measured, and whether it holds.
pub fn lines(outcomes: &[Outcome]) -> String {
    let line = |outcome: &Outcome| {
        format!(
            "{}: {}, {}",
            outcome.condition,
            outcome.measured.as_deref().unwrap_or("unknown"),
            if outcome.met { "met" } else { "not met" }
        )
    };
    outcomes.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a figure is one value, or not known.
fn is_single(figure: &Json) -> bool {
    !matches!(figure, Json::Array(_) | Json::Object(_))
}

/// A sentence with the names that are most like the given one, at most three; with all, if none is.
fn similar<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> String {
    const MAX: usize = 3;
    // Comparing takes time for each character, of which there may be many: the first ones decide.
    let given: String = given.chars().take(64).collect();
    let mut names: Vec<(usize, &str)> = names
        .map(|name| match given.len() > 1 && name.contains(&given) {
            true => (0, name),
            false => (strsim::osa_distance(&given, name), name),
        })
        .collect();
    names.sort_unstable_by_key(|(distance, name)| (*distance, name.len(), *name));
    let is_near = |(distance, name): &&(usize, &str)| distance * 2 <= name.len();
    let near: Vec<_> = names.iter().filter(is_near).take(MAX).copied().collect();
    let text = |(_, name): (usize, &str)| name.to_owned();
    match near.is_empty() {
        false => sentence("Similar figures are", near.into_iter().map(text)),
        true => {
            names.sort_unstable_by_key(|(_, name)| *name);
            sentence("Figures are", names.into_iter().map(text))
        }
    }
}

/// A sentence that ends with names.
fn sentence(beginning: &str, names: impl Iterator<Item = String>) -> String {
    format!("{beginning} {}.", names.collect::<Vec<_>>().join(", "))
}

/// A name as a condition has it.
fn quoted(name: &str) -> String {
    match lexer::is_word(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The beginning of a text that may be long.
fn abridged(text: &str) -> String {
    const MAX_CHARACTERS: usize = 100;
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
