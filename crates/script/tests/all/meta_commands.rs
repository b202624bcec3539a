//! Execution of meta commands.

use crate::common::{Client, parse};
use selfbench_script::{
    Action, Command, Dialect, EvalContext, Jump, Protocol, Value, Variables, Workload,
    WorkloadBuilder,
};

fn first(workload: &Workload) -> &Command {
    &workload.scripts[0].commands[0]
}

/// Executes a script's assignments and conditions; returns the statements that it comes to.
fn run(body: &str) -> Vec<String> {
    let workload = parse(body);
    let commands = &workload.scripts[0].commands;
    let mut variables = Variables::new(&workload.symbols);
    let mut rng = Client::with_seed(42).rng;
    let mut sent = Vec::new();
    let (mut next, mut is_test) = (0, false);
    while let Some(command) = commands.get(next) {
        let mut context = EvalContext {
            variables: &mut variables,
            rng: &mut rng,
            debug: None,
        };
        let tested = std::mem::take(&mut is_test);
        next += 1;
        match &command.action {
            Action::Sql(sql) => {
                let mut text = String::new();
                sql.simple_text(&variables, &mut text).unwrap();
                sent.push(text.trim().to_owned());
            }
            Action::Set(set) => set.execute(&mut context).unwrap(),
            Action::Template(template) => template.execute(&mut variables, &mut rng).unwrap(),
            Action::Elif { end, .. } if !tested => next = *end,
            Action::Else { end } => next = *end,
            Action::If {
                condition,
                otherwise,
            }
            | Action::Elif {
                condition,
                otherwise,
                ..
            } => {
                let holds = condition.eval(&mut context).unwrap().is_true();
                (next, is_test) = match *otherwise {
                    _ if holds => (next, false),
                    Jump::Test(index) => (index, true),
                    Jump::Run(index) => (index, false),
                };
            }
            _ => {}
        }
    }
    sent
}

#[test]
fn branches() {
    let body = |value: &str| {
        format!(
            "\\set x {value}\n\
             \\if :x = 1\na;\n\\elif :x = 2\nb;\n\\elif :x = 3\nc;\n\\else\nd;\n\\endif\ne;"
        )
    };
    assert_eq!(run(&body("1")), ["a;", "e;"]);
    assert_eq!(run(&body("2")), ["b;", "e;"]);
    assert_eq!(run(&body("3")), ["c;", "e;"]);
    assert_eq!(run(&body("4")), ["d;", "e;"]);
}

#[test]
fn skipped_branches_evaluate_nothing() {
    // The divisions would fail, and so would the undefined variable.
    let body = "\\if false\n\\set x 1/0\n\\if 1/0\n\\elif 1/0\na;\n\\endif\n\\elif null\nb;\n\
                \\elif true\nc;\n\\elif 1/0\n\\set x :undef\n\\else\nd;\n\\endif";
    assert_eq!(run(body), ["c;"]);
    assert_eq!(run("\\if 0.0\n\\endif\na;"), ["a;"]);
}

#[test]
fn a_lone_backslash_is_ignored() {
    assert_eq!(run("\\\n\\set x 1\nselect :x \\\n;"), ["select 1", ";"]);
    assert_eq!(run("\\ SET x 1 \\\n + 2\r\nselect :x"), ["select 3"]);
}

#[test]
fn invalid_names_fail_when_they_are_assigned_to() {
    let workload = parse("\\SET 1a 3");
    let mut client = Client::with_seed(42);
    let Action::Set(set) = &first(&workload).action else {
        panic!("not an assignment");
    };
    let error = set
        .execute(&mut EvalContext {
            variables: &mut client.variables,
            rng: &mut client.rng,
            debug: None,
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "SET: invalid variable name: \"1a\"");
    assert_eq!(error.summary(), "assignment of meta-command failed");
    assert_eq!(first(&workload).keyword, "SET");
    assert_eq!(first(&workload).name(), "set");
}

#[test]
fn templates() {
    let mut client = Client::with_seed(42);
    let digits: [i64; 3] = std::array::from_fn(|_| client.int("random(0, 9)"));
    let letters: String = (0..2)
        .map(|_| char::from(b'a' + client.int("random(0, 25)") as u8))
        .collect();
    let [first, second, third] = digits;
    let drawn = format!("{first}{second}{third}-{letters}");
    assert_eq!(
        run("\\template t ###-@@\nselect :'t', :t"),
        [format!("select '{drawn}', {drawn}")]
    );
    // Other characters draw nothing.
    assert_eq!(
        run("\\Template t\t it's :v \\x; \\\n é -- 1 \t\r\nselect :'t', :'r'\\set r 1"),
        [r"select E'it''s :v \\x;  é -- 1', :'r'"]
    );
    assert_eq!(
        run("\\template t #\n\\set n random(0, 9)\n\\template t #:n\nselect :'t', :n"),
        [format!("select '{third}:n', {second}")]
    );
    // Expressions read a number in it.
    assert_eq!(
        run("\\template t 1#\n\\set n :t + 0\nselect :n"),
        [format!("select 1{first}")]
    );
}

#[test]
fn invalid_templates() {
    let message = |dialect: Dialect, line: &str| {
        let mut builder = WorkloadBuilder::new(Protocol::Simple).in_dialect(dialect);
        builder.add("F", "F", line, 1).unwrap_err().summary()
    };
    for (line, expected) in [
        ("\\template", "missing argument in command \"template\""),
        (
            "\\TEMPLATE t \t\\\n",
            "missing argument in command \"TEMPLATE\"",
        ),
    ] {
        assert_eq!(message(Dialect::Extended, line), expected);
    }
    assert_eq!(
        message(Dialect::Pgbench, "\\template t #"),
        "invalid command in command \"template\""
    );

    let workload = parse("\\template 1a #");
    let Action::Template(template) = &first(&workload).action else {
        panic!("not a template");
    };
    let mut client = Client::with_seed(42);
    let error = template
        .execute(&mut client.variables, &mut client.rng)
        .unwrap_err();
    assert_eq!(error.to_string(), "template: invalid variable name: \"1a\"");
    assert_eq!(first(&workload).action.invalid_name(), Some(error));
    assert_eq!(client.rng, Client::with_seed(42).rng);
}

/// The duration of `\sleep ARGUMENTS` in µs, with the variable v holding a text.
fn sleep(arguments: &str, text: Option<&str>) -> Result<u32, String> {
    let workload = parse(&format!("\\Sleep {arguments}"));
    let mut variables = Variables::new(&workload.symbols);
    if let (Some(text), Some(slot)) = (text, workload.symbols.find("v")) {
        variables.set_text(slot, text);
    }
    match &first(&workload).action {
        Action::Sleep(sleep) => sleep
            .duration_us(&variables, &mut String::new())
            .map_err(|error| error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sleep_durations() {
    for (arguments, microseconds) in [
        ("1", 1_000_000),
        ("2 s", 2_000_000),
        ("5 ms", 5_000),
        ("5ms", 5_000),
        ("5MS", 5_000),
        ("7 us", 7),
        ("+7us", 7),
        ("-7 us", 0),
        ("- us", 0),
        ("2148", 0),
        ("4295", 32_704),
        ("99999999999 us", 1_215_752_191),
    ] {
        assert_eq!(sleep(arguments, None), Ok(microseconds), "{arguments}");
    }
    assert_eq!(sleep(":v ms", Some("3")), Ok(3_000));
    assert_eq!(sleep(":v ms", Some("3x")), Ok(3_000));
    assert_eq!(sleep(":v us", Some("0")), Ok(0));
    assert_eq!(sleep(":v us", Some("1.9")), Ok(1));
}

#[test]
fn sleep_variables() {
    assert_eq!(
        sleep(":v", None),
        Err("Sleep: undefined variable \"v\"".to_owned())
    );
    for text in ["a", "-0", ""] {
        let message = format!("Sleep: invalid sleep time \"{text}\" for variable \"v\"");
        assert_eq!(sleep(":v us", Some(text)), Err(message));
    }
}

#[test]
fn shell_command_lines() {
    let workload = parse("\\shell echo  :v ::x a:v \"b c\" ");
    let Action::Shell(shell) = &first(&workload).action else {
        panic!("not a shell command");
    };
    let mut variables = Variables::new(&workload.symbols);
    let mut line = String::from("old");
    let error = shell.command_line(&variables, &mut line).unwrap_err();
    assert_eq!(error.to_string(), "echo: undefined variable \":v\"");
    let slot = workload.symbols.find("v").unwrap();
    variables.set(slot, Value::Double(0.5));
    assert_eq!(shell.command_line(&variables, &mut line), Ok(()));
    assert_eq!(line, "echo 0.5 :x a:v \"b c\"");
    let message = "echo: could not launch shell command";
    assert_eq!(shell.launch_error().to_string(), message);
}

#[test]
fn length_of_command_lines() {
    for (length, fits) in [(254, true), (255, false)] {
        let workload = parse(&format!("\\shell echo {}", "x".repeat(length - 5)));
        let Action::Shell(shell) = &first(&workload).action else {
            panic!("not a shell command");
        };
        let mut line = String::new();
        let result = shell.command_line(&Variables::new(&workload.symbols), &mut line);
        assert_eq!(result.is_ok(), fits);
        if let Err(error) = result {
            assert_eq!(error.to_string(), "echo: shell command is too long");
        }
    }
}

#[test]
fn output_of_shell_commands() {
    let workload = parse("\\setshell v echo 5");
    let Action::SetShell(command) = &first(&workload).action else {
        panic!("not a shell command");
    };
    let mut variables = Variables::new(&workload.symbols);
    let slot = workload.symbols.find("v").unwrap();
    for (output, value) in [
        (" 5 \n", 5),
        ("5", 5),
        ("-5\n6\n", -5),
        ("\n5\n", 0),
        ("99999999999\n", 1_215_752_191),
        ("9999999999999999999999\n", -1),
    ] {
        assert_eq!(command.store(output.as_bytes(), &mut variables), Ok(()));
        assert_eq!(variables.value(slot, "v"), Ok(Some(Value::Int(value))));
    }
    let message = |output: &[u8]| {
        let mut variables = Variables::new(&workload.symbols);
        let error = command.store(output, &mut variables).unwrap_err();
        error.to_string()
    };
    assert_eq!(message(b""), "echo: could not read result of shell command");
    assert_eq!(
        message(b"5x\n"),
        "echo: shell command must return an integer (not \"5x\n\")"
    );
    let invalid = parse("\\setshell 1a echo 5");
    let Action::SetShell(command) = &first(&invalid).action else {
        panic!("not a shell command");
    };
    let error = command.store(b"5", &mut variables).unwrap_err();
    assert_eq!(error.to_string(), "setshell: invalid variable name: \"1a\"");
}

#[test]
fn pipelines() {
    let workload = parse("\\startpipeline\n\\syncpipeline\n\\endpipeline");
    let names: Vec<&str> = workload.scripts[0]
        .commands
        .iter()
        .map(Command::name)
        .collect();
    assert_eq!(names, ["startpipeline", "syncpipeline", "endpipeline"]);
}
