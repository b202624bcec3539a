//! Checks of any text for a panic, a hang or growing memory; shared with the fuzz targets, each of
//! which uses one of these.

#![allow(dead_code)]

use selfbench_script::{
    Action, EvalContext, Expr, Protocol, Rng, Streams, Symbols, Value, ValueSets, Variables,
    WorkloadBuilder,
};

/// Parses a text as a script and goes once through its commands, whatever their conditions say.
pub fn script(body: &str, protocol: Protocol) {
    let mut builder = WorkloadBuilder::new(protocol);
    if let Err(error) = builder.add("F", "F", body, 1) {
        assert!(!error.to_string().is_empty());
        return;
    }
    let workload = builder.finish().expect("it has a script");
    let mut variables = Variables::new(&workload.symbols);
    if let Some(slot) = workload.symbols.find("v") {
        variables.set_text(slot, "12");
    }
    let mut rng = generator();
    let mut buffer = String::new();
    for command in &workload.scripts[0].commands {
        assert!(command.line <= body.lines().count() + 1);
        assert!(command.report_text().len() <= command.text.len());
        let mut debug = shows;
        let mut context = EvalContext {
            variables: &mut variables,
            rng: &mut rng,
            debug: Some(&mut debug),
        };
        match &command.action {
            Action::Sql(sql) => {
                buffer.clear();
                sql.simple_text(&variables, &mut buffer).unwrap();
                assert!(sql.first_line().len() <= 127);
            }
            Action::Set(set) => _ = set.execute(&mut context),
            Action::Values(values) => {
                values.execute(ValueSets::default(), &mut variables, &mut rng);
            }
            Action::Template(template) => _ = template.execute(&mut variables, &mut rng),
            Action::If { condition, .. } | Action::Elif { condition, .. } => {
                _ = condition.eval(&mut context);
            }
            Action::Sleep(sleep) => _ = sleep.duration_us(&variables, &mut buffer),
            Action::Shell(shell) => _ = shell.command_line(&variables, &mut buffer),
            Action::SetShell(shell) => {
                _ = shell.command().command_line(&variables, &mut buffer);
                _ = shell.store(body.as_bytes(), &mut variables);
            }
            _ => {}
        }
    }
}

/// Parses a text as an expression and evaluates it, twice with the same generator: the same value.
pub fn expression(text: &str) {
    let mut symbols = Symbols::new();
    let expr = match Expr::parse(text, &mut symbols) {
        Ok(expr) => expr,
        Err(error) => {
            assert!(error.end <= text.len() && !error.to_string().is_empty());
            return;
        }
    };
    let mut variables = Variables::new(&symbols);
    if let Some(slot) = symbols.find("v") {
        variables.set_text(slot, "12");
    }
    let mut evaluate = || {
        let mut debug = shows;
        let value = expr.eval(&mut EvalContext {
            variables: &mut variables,
            rng: &mut generator(),
            debug: Some(&mut debug),
        });
        // As texts, because of NaN.
        value
            .map(|value| value.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(evaluate(), evaluate());
}

/// Takes what `debug` is called with: every value has a printed form.
fn shows(value: Value) {
    assert!(!value.debug_form().to_string().is_empty());
}

fn generator() -> Rng {
    Streams::derive(1, 1, 1, false).clients[0]
}
