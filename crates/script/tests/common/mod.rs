//! Helpers of the tests: a parser of one script, and a client that evaluates expressions.

#![allow(dead_code)]

use selfbench_script::{
    EvalContext, EvalError, Expr, Protocol, Rng, Streams, Symbols, Value, Variables, Workload,
    WorkloadBuilder,
};

/// A run of one script, which is valid.
pub fn parse(body: &str) -> Workload {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder
        .add("F", "F", body, 1)
        .unwrap_or_else(|error| panic!("{body}: {error}"));
    builder.finish().unwrap()
}

/// A client with its variables and its generator, as a run with `seed` and one client has it.
pub struct Client {
    pub symbols: Symbols,
    pub variables: Variables,
    pub rng: Rng,
    pub debugged: Vec<String>,
}

impl Client {
    pub fn with_seed(seed: u64) -> Self {
        let streams = Streams::derive(seed, 1, 1, false);
        let symbols = Symbols::new();
        let mut variables = Variables::new(&symbols);
        variables.set(symbols.default_seed(), Value::Int(streams.default_seed));
        variables.set(symbols.random_seed(), Value::Int(streams.base_seed as i64));
        Self {
            symbols,
            variables,
            rng: streams.clients[0],
            debugged: Vec::new(),
        }
    }

    /// The value of an expression that is known to be well-formed.
    pub fn eval(&mut self, text: &str) -> Result<Value, EvalError> {
        let expr = Expr::parse(text, &mut self.symbols)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let mut sink = |value: Value| self.debugged.push(value.debug_form().to_string());
        expr.eval(&mut EvalContext {
            variables: &mut self.variables,
            rng: &mut self.rng,
            debug: Some(&mut sink),
        })
    }

    /// The integer that an expression evaluates to.
    pub fn int(&mut self, text: &str) -> i64 {
        match self.eval(text) {
            Ok(Value::Int(value)) => value,
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Output of `debug` for an expression: its value, or the messages of its errors.
pub fn shown(text: &str) -> String {
    let mut client = Client::with_seed(42);
    if let Err(error) = Expr::parse(text, &mut client.symbols) {
        return match error.kind.detail() {
            Some(detail) => format!("{error} ({detail})"),
            None => error.to_string(),
        };
    }
    match client.eval(text) {
        Ok(value) => value.debug_form().to_string(),
        Err(error) => error.to_string(),
    }
}
