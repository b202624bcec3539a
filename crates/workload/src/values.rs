//! Values of variables and constants: integers by expressions of pgbench's language.

use crate::error::WorkloadError;
use crate::manifest::{Constant, Manifest};
use selfbench_script::{EvalContext, Expr, Rng, Symbols, Value, Variables};
use std::collections::BTreeMap;

/// Values that a user gives, by name.
pub type Given = BTreeMap<String, i64>;

/// Values of a family for a load or a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(pub BTreeMap<String, i64>);

impl Values {
    /// Values of the variables of a family at that scale, `scale` included.
    ///
    /// # Errors
    /// If one that is given is unknown or out of range.
    pub fn of(manifest: &Manifest, scale: i64, given: &Given) -> Result<Values, WorkloadError> {
        let is_known = |name: &String| manifest.variables.iter().any(|v| v.name == *name);
        if let Some(name) = given.keys().find(|name| !is_known(name)) {
            return Err(WorkloadError::UnknownVariable(name.clone()));
        }
        let mut values = Values(BTreeMap::from([("scale".to_owned(), scale)]));
        for variable in &manifest.variables {
            let value = match given.get(&variable.name) {
                Some(value) => *value,
                // No generator: a default that draws is the same each time.
                None => {
                    values.evaluate(&variable.name, &variable.default, &mut Rng::from_seed(0))?
                }
            };
            if !(variable.min..=variable.max).contains(&value) {
                return Err(WorkloadError::OutOfRange {
                    name: variable.name.clone(),
                    value: value.to_string(),
                    min: variable.min,
                    max: variable.max,
                });
            }
            values.0.insert(variable.name.clone(), value);
        }
        Ok(values)
    }

    /// Draws constants with that seed, one after the other, and adds them.
    ///
    /// # Errors
    /// If one cannot be evaluated.
    pub fn draw(&mut self, constants: &[Constant], seed: u64) -> Result<(), WorkloadError> {
        let mut rng = Rng::from_seed(seed);
        for constant in constants {
            let value = self.evaluate(&constant.name, &constant.value, &mut rng)?;
            self.0.insert(constant.name.clone(), value);
        }
        Ok(())
    }

    /// The value of an expression over these values; `name` is what it is for.
    ///
    /// # Errors
    /// If the expression is not valid or its value not an integer.
    pub fn evaluate(&self, name: &str, text: &str, rng: &mut Rng) -> Result<i64, WorkloadError> {
        let failed = |message: String| WorkloadError::Value {
            name: name.to_owned(),
            message,
        };
        let mut symbols = Symbols::new();
        let expr = Expr::parse(text, &mut symbols).map_err(|error| failed(error.to_string()))?;
        let mut variables = Variables::new(&symbols);
        for (name, value) in &self.0 {
            if let Some(slot) = symbols.find(name) {
                variables.set(slot, Value::Int(*value));
            }
        }
        let value = expr.eval(&mut EvalContext {
            variables: &mut variables,
            rng,
            debug: None,
        });
        value
            .map_err(|error| failed(error.to_string()))?
            .to_int()
            .map_err(|error| failed(error.to_string()))
    }
}
