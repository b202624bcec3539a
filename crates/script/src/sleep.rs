//! `\sleep`: how long it waits.

use thiserror::Error;

use crate::number::c_atoi;
use crate::symbols::Slot;
use crate::variables::Variables;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepUnit {
    /// µs.
    Microseconds,
    /// ms.
    Milliseconds,
    /// s.
    Seconds,
}

impl SleepUnit {
    /// Reads `us`, `ms` or `s`, in any case of letters.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [
            ("us", Self::Microseconds),
            ("ms", Self::Milliseconds),
            ("s", Self::Seconds),
        ]
        .into_iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name))
        .map(|(_, unit)| unit)
    }

    fn microseconds(self) -> i32 {
        match self {
            Self::Microseconds => 1,
            Self::Milliseconds => 1_000,
            Self::Seconds => 1_000_000,
        }
    }
}

/// Number of units to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Literal(i32),
    Variable { slot: Slot, name: String },
}

/// `\sleep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    pub(crate) command: String,
    pub(crate) amount: Amount,
    pub(crate) unit: SleepUnit,
}

/// Why `\sleep` failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SleepError {
    /// The amount is a variable that nothing has set.
    #[error("{command}: undefined variable \"{name}\"")]
    UndefinedVariable {
        /// The command as typed.
        command: String,
        /// The variable.
        name: String,
    },
    /// The amount is a variable that does not hold a number.
    #[error("{command}: invalid sleep time \"{text}\" for variable \"{name}\"")]
    InvalidTime {
        /// The command as typed.
        command: String,
        /// The variable.
        name: String,
        /// Its text.
        text: String,
    },
}

impl Sleep {
    /// The variable that it reads, if it does.
    pub(crate) fn slot(&self) -> Option<Slot> {
        match self.amount {
            Amount::Literal(_) => None,
            Amount::Variable { slot, .. } => Some(slot),
        }
    }

    /// Time to wait, in µs; 0 means not at all. The product is kept in 32 bits, so that 2148 s are
    /// nothing and 4295 s are 33 ms. `scratch` is overwritten.
    ///
    /// # Errors
    /// If the amount is a variable that is unset or whose text does not start with a digit while
    /// its leading number is 0.
    pub fn duration_us(
        &self,
        variables: &Variables,
        scratch: &mut String,
    ) -> Result<u32, SleepError> {
        let amount = match &self.amount {
            Amount::Literal(amount) => *amount,
            Amount::Variable { slot, name } => {
                scratch.clear();
                if !variables.write_text(*slot, scratch) {
                    return Err(SleepError::UndefinedVariable {
                        command: self.command.clone(),
                        name: name.clone(),
                    });
                }
                let amount = c_atoi(scratch);
                if amount == 0 && !scratch.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(SleepError::InvalidTime {
                        command: self.command.clone(),
                        name: name.clone(),
                        text: scratch.clone(),
                    });
                }
                amount
            }
        };
        let microseconds = amount.wrapping_mul(self.unit.microseconds());
        Ok(u32::try_from(microseconds).unwrap_or(0))
    }
}
