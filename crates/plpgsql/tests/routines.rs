//! Routines run by a driver that knows a few statements by heart: what they ask for, in which order, and what comes of it.

use plpgsql::machine::AnswerKind;
use plpgsql::program::Returns;
use plpgsql::{
    Effect, EffectOutcome, PlpgsqlResult, RoutineCatalog, RoutineError, RoutineHeader, RoutineMachine, StatementAnswer,
    parse,
};
use std::fmt::Write;
use std::sync::Arc;
use values::{Type, Value, Zone, text};

/// A table `t (a integer, b text)`.
struct OneTable;

impl RoutineCatalog for OneTable {
    fn data_type(&self, written: &str) -> PlpgsqlResult<Type> {
        Ok(written.parse::<Type>()?)
    }

    fn columns(&self, relation: &[String]) -> Option<Vec<(String, Type)>> {
        let columns = || vec![("a".to_owned(), Type::Integer), ("b".to_owned(), Type::Text)];
        (relation.last()? == "t").then(columns)
    }

    fn zone(&self) -> &Zone {
        &Zone::UTC
    }
}

/// What the driver knows: queries by the begin of their text, with how many rows of (1, 'x'), (2, 'y') and so on they have.
fn answer(sql: &str) -> EffectOutcome {
    let columns = vec![("a".to_owned(), Type::Integer), ("b".to_owned(), Type::Text)];
    let row = |number: i32| vec![Value::Integer(number), Value::text(format!("row {number}"))];
    let query = |rows: i32| StatementAnswer {
        columns: columns.clone(),
        rows: (1..=rows).map(row).collect(),
        count: rows as u64,
        kind: AnswerKind::Query,
    };
    if sql.contains("fails") {
        let mut error = RoutineError::new(sqlstate::UNIQUE_VIOLATION, "duplicate key");
        error.is_final = sql.contains("finally");
        return EffectOutcome::Failed(error);
    }
    if sql.starts_with("insert") || sql.starts_with("update") {
        return EffectOutcome::Answer(StatementAnswer {
            count: 3,
            kind: AnswerKind::Change,
            ..StatementAnswer::default()
        });
    }
    if sql.contains("from none") {
        return EffectOutcome::Answer(query(0));
    }
    if sql.contains("from t") {
        return EffectOutcome::Answer(query(3));
    }
    EffectOutcome::Answer(StatementAnswer {
        columns: vec![("?column?".to_owned(), Type::Text)],
        rows: vec![vec![Value::text("computed")]],
        count: 1,
        kind: AnswerKind::Query,
    })
}

/// All that a body does.
fn transcript(body: &str) -> String {
    transcript_of(body, RoutineHeader::default(), Vec::new())
}

/// All that a body does of a routine with a header, with arguments for its variables.
fn transcript_of(body: &str, header: RoutineHeader, arguments: Vec<(Value, Type)>) -> String {
    let mut out = String::new();
    // What has a name behind those that go in goes out.
    let outputs = if header.returns == Returns::Outputs { vec![arguments.len() - 1] } else { Vec::new() };
    let program = match parse(body, &header) {
        Ok(program) => program,
        Err(error) => return format!("{} {}", error.sqlstate, error.message),
    };
    let machine = RoutineMachine::new(Arc::new(program), "f".to_owned(), arguments, outputs, &OneTable);
    let mut machine = match machine {
        Ok(machine) => machine,
        Err(error) => return format!("{} {}", error.sqlstate, error.message),
    };
    let mut outcome = EffectOutcome::Done;
    for _ in 0..1_000 {
        let effect = machine.go_on(outcome, &OneTable);
        outcome = EffectOutcome::Done;
        match effect {
            Effect::Run(statement) => {
                let _ = write!(out, "{}", statement.sql);
                for parameter in &statement.parameters {
                    let _ = write!(out, " [{}]", text::to_string(parameter).unwrap_or_else(|| "NULL".to_owned()));
                }
                out.push('\n');
                outcome = answer(&statement.sql);
            }
            Effect::Savepoint => out.push_str("savepoint\n"),
            Effect::Release => out.push_str("release\n"),
            Effect::RollBack => out.push_str("roll back\n"),
            Effect::Notice(level, notice) => {
                let _ = writeln!(out, "{level:?} {}", notice.message);
            }
            Effect::Pause => out.push_str("pause\n"),
            Effect::Done(rows) => {
                let shown = |row: &Vec<Value>| {
                    let of = |value: &Value| text::to_string(value).unwrap_or_else(|| "NULL".to_owned());
                    format!(" ({})", row.iter().map(of).collect::<Vec<_>>().join(","))
                };
                let is_function = header.returns != Returns::Nothing;
                return out + "done" + &rows.iter().filter(|_| is_function).map(shown).collect::<String>();
            }
            Effect::Failed(error) => {
                let context = error.context.unwrap_or_default().replace('\n', " | ");
                return out + &format!("failed {} {} ({context})", error.sqlstate, error.message);
            }
        }
    }
    out + "endless"
}

#[track_caller]
fn check(body: &str, wanted: &[&str]) {
    assert_eq!(transcript(body).lines().collect::<Vec<_>>(), wanted, "{body}");
}

#[track_caller]
fn check_function(returns: Returns, body: &str, wanted: &str) {
    let parameters = vec![("a".to_owned(), Type::Integer)];
    let header = RoutineHeader { name: Some("f".to_owned()), parameters, returns };
    let found = transcript_of(body, header, vec![(Value::Integer(4), Type::Integer)]);
    assert_eq!(found.lines().last().unwrap_or_default(), wanted, "{body}");
}

/// Functions give back what RETURN says, as a value of their type.
#[test]
fn functions_return() {
    let text = || Returns::Value(Type::Text);
    let set = || Returns::Set { columns: vec![Type::Text], has_outputs: false };
    check_function(text(), "begin return a * 2; end", "done (8)");
    check_function(text(), "begin loop if a > 2 then return a; end if; end loop; end", "done (4)");
    check_function(text(), "begin return 1; exception when others then return 2; end", "done (1)");
    check_function(
        Returns::Value(Type::Integer),
        "begin return 'x'; end",
        "failed 22P02 invalid input syntax for type integer: \"x\" (PL/pgSQL function f while casting return value to function's return type)",
    );
    check_function(
        text(),
        "begin null; end",
        "failed 2F005 control reached end of function without RETURN (PL/pgSQL function f)",
    );
    check_function(text(), "begin return; end", "42601 missing expression at or near \";\"");
    check_function(text(), "begin return next a; end", "42804 cannot use RETURN NEXT in a non-SETOF function");
    check_function(Returns::Void, "begin return; end", "done ()");
    check_function(
        Returns::Void,
        "begin return 1; end",
        "42804 RETURN cannot have a parameter in function returning void",
    );
    check_function(Returns::Outputs, "begin a := a + 1; end", "done (5)");
    check_function(
        Returns::Outputs,
        "begin return a; end",
        "42804 RETURN cannot have a parameter in function with OUT parameters",
    );
    check_function(set(), "begin for i in 1..3 loop return next i; end loop; end", "done (1) (2) (3)");
    check_function(set(), "begin return next a; return; end", "done (4)");
    check_function(set(), "begin return 1; end", "42804 RETURN cannot have a parameter in function returning set");
    let pair = || Returns::Set { columns: vec![Type::Integer, Type::Text], has_outputs: true };
    check_function(pair(), "begin return query select * from t; end", "done (1,row 1) (2,row 2) (3,row 3)");
    check_function(pair(), "begin return query execute 'select * from t'; end", "done (1,row 1) (2,row 2) (3,row 3)");
    check_function(
        set(),
        "begin return query select * from t; end",
        "failed 42804 structure of query does not match function result type (SQL statement \"select * from t\" | PL/pgSQL function f line 1 at RETURN QUERY)",
    );
}

/// Loops count as PostgreSQL's do, and FOUND tells whether they ran.
#[test]
fn loops() {
    check(
        "begin for i in 1..3 loop raise notice '%', i; end loop; raise notice '%', found; end",
        &["Notice 1", "Notice 2", "Notice 3", "Notice t", "done"],
    );
    check(
        "begin for i in reverse 9..1 by 4 loop raise notice '% %%', i; end loop; end",
        &["Notice 9 %", "Notice 5 %", "Notice 1 %", "done"],
    );
    check(
        "begin for i in 2147483646..2147483647 loop raise notice '%', i; end loop; end",
        &["Notice 2147483646", "Notice 2147483647", "done"],
    );
    check("begin for i in 3..1 loop null; end loop; raise notice '%', found; end", &["Notice f", "done"]);
    check(
        "<<o>> declare n int := 0; begin loop n := n + 1; continue when n = 2; exit o when n > 3; raise notice '%', o.n; end loop; raise notice 'never'; end",
        &["Notice 1", "Notice 3", "done"],
    );
    check(
        "declare n int = 3; begin while n > 0 loop n = n - 1; end loop; raise info '%', n; end;",
        &["Info 0", "done"],
    );
    check(
        "begin <<a>> for i in 1..2 loop for j in 1..2 loop continue a when j = 2; raise notice '% %', i, j; end loop; end loop a; end",
        &["Notice 1 1", "Notice 2 1", "done"],
    );
}

/// A loop that never asks for anything lets others have their turn.
#[test]
fn endless_loops_pause() {
    assert!(transcript("begin loop null; end loop; end").starts_with("pause\npause\n"));
}

/// Rows go into records, lists of variables, and rows of a table's type.
#[test]
fn rows() {
    check(
        "declare r record; begin for r in select * from t loop raise notice '% %', r.a, r; end loop; end",
        &["select * from t", "Notice 1 (1,\"row 1\")", "Notice 2 (2,\"row 2\")", "Notice 3 (3,\"row 3\")", "done"],
    );
    check(
        "declare x int; y text; begin select a, b into x, y from t; raise notice '% % %', x, y, found; end",
        &["select a, b           from t", "Notice 1 row 1 t", "done"],
    );
    check(
        "declare x t%rowtype; begin select * into strict x from none; end",
        &[
            "select *               from none",
            "failed P0002 query returned no rows (PL/pgSQL function f line 1 at SQL statement)",
        ],
    );
    check(
        "declare x t.b%type; begin select b into strict x from t; end",
        &[
            "select b               from t",
            "failed P0003 query returned more than one row (PL/pgSQL function f line 1 at SQL statement)",
        ],
    );
    check(
        "declare r record; begin raise notice '%', r.a; end",
        &["failed 55000 record \"r\" is not assigned yet (PL/pgSQL function f line 1 at RAISE)"],
    );
    check(
        "declare a int[]; e int; begin a[1] := 5; a[2] := 7; foreach e in array a loop raise notice '%', e; end loop; end",
        &["Notice 5", "Notice 7", "done"],
    );
    check(
        "begin select 1; end",
        &[
            "select 1",
            "failed 42601 query has no destination for result data (PL/pgSQL function f line 1 at SQL statement)",
        ],
    );
}

/// Names of variables become parameters where they are no columns, and are refused where they may be both.
#[test]
fn names_in_statements() {
    check(
        "declare x int := 7; begin insert into t (a) values (x) ; end",
        &["insert into t (a) values ($1) [7]", "done"],
    );
    check(
        "declare a int := 7; begin insert into t (a) values (a + a); end",
        &["insert into t (a) values ($1 + $1) [7]", "done"],
    );
    check(
        "declare a int := 7; begin update t set b = 'z' where a = 1; end",
        &["failed 42702 column reference \"a\" is ambiguous (PL/pgSQL function f line 1 at SQL statement)"],
    );
    check(
        "<<l>> declare a int := 7; begin update t set b = 'z' where a = l.a and t.b <> 'a'; end",
        &["failed 42702 column reference \"a\" is ambiguous (PL/pgSQL function f line 1 at SQL statement)"],
    );
    check(
        "<<l>> declare n int := 7; begin update t set b = 'n' where t.a = l.n; end",
        &["update t set b = 'n' where t.a = $1 [7]", "done"],
    );
    check(
        "declare a int := 7; begin perform 1 from (select b as c from t) s where a = 1; end",
        &["SELECT 1 from (select b as c from t) s where $1 = 1 [7]", "done"],
    );
    check(
        "declare r record; begin select a, b into r from t; insert into t values (r.*); end",
        &["select a, b        from t", "insert into t values ($1, $2) [1] [row 1]", "done"],
    );
    check(
        "declare x text; begin x := upper('a' || x); raise notice '%', x; end",
        &["SELECT upper('a' || $1) [NULL]", "Notice computed", "done"],
    );
}

/// A block with EXCEPTION is within a savepoint, which is released or returned to once, however it is left.
#[test]
fn handlers() {
    check(
        "begin begin insert into fails values (1); exception when unique_violation then raise notice '% %', sqlstate, sqlerrm; end; end",
        &["savepoint", "insert into fails values (1)", "roll back", "Notice 23505 duplicate key", "done"],
    );
    check(
        "begin insert into t values (1); exception when others then null; end",
        &["savepoint", "insert into t values (1)", "release", "done"],
    );
    check(
        "begin loop begin exit; exception when others then null; end; end loop; end",
        &["savepoint", "release", "done"],
    );
    check("begin begin return; exception when others then null; end; end", &["savepoint", "release", "done"]);
    check(
        "begin begin raise exception 'a %', 1 using errcode = '22012'; exception when data_exception then raise; end; exception when division_by_zero then raise notice '%', sqlerrm; end",
        &["savepoint", "savepoint", "roll back", "roll back", "Notice a 1", "done"],
    );
    check(
        "begin begin insert into fails values ('finally'); exception when others then null; end; end",
        &[
            "savepoint",
            "insert into fails values ('finally')",
            "failed 23505 duplicate key (SQL statement \"insert into fails values ('finally')\" | PL/pgSQL function f line 1 at SQL statement)",
        ],
    );
    check(
        "begin begin assert false, 'no'; exception when others then null; end; end",
        &["savepoint", "roll back", "failed P0004 no (PL/pgSQL function f line 1 at ASSERT)"],
    );
    check(
        "declare m text; begin begin raise unique_violation using message = 'm', hint = 'h'; exception when others then get stacked diagnostics m = pg_exception_hint; end; raise notice '%', m; end",
        &["savepoint", "roll back", "Notice h", "done"],
    );
    check(
        "declare n int; begin update t set a = 1; get diagnostics n = row_count; raise notice '%', n; end",
        &["update t set a = 1", "Notice 3", "done"],
    );
    check(
        "begin raise; end",
        &[
            "failed 0Z002 RAISE without parameters cannot be used outside an exception handler (PL/pgSQL function f line 1 at RAISE)",
        ],
    );
}

/// Branches take the first condition that is true.
#[test]
fn branches() {
    check(
        "declare x int := 2; begin if x = 1 then raise notice 'a'; elsif x = 2 then raise notice 'b'; else raise notice 'c'; end if; end",
        &["Notice b", "done"],
    );
    check(
        "begin case when false then null; end case; end",
        &["failed 20000 case not found (PL/pgSQL function f line 1 at CASE)"],
    );
    check("begin if null then raise notice 'a'; else raise notice 'b'; end if; end", &["Notice b", "done"]);
}

/// What is assigned is cast, and refused where it must not be.
#[test]
fn assignments() {
    check(
        "declare x int := '5'; y text := 5; b boolean := 1; begin raise notice '% % %', x + 1, y, b; end",
        &["Notice 6 5 t", "done"],
    );
    check(
        "declare x int; begin x := 'a'; end",
        &["failed 22P02 invalid input syntax for type integer: \"a\" (PL/pgSQL function f line 1 at assignment)"],
    );
    check(
        "declare x int not null := 1; begin x := null; end",
        &[
            "failed 22004 null value cannot be assigned to variable \"x\" declared NOT NULL (PL/pgSQL function f line 1 at assignment)",
        ],
    );
    check(
        "declare x varchar(2); begin x := 'abc'; end",
        &["failed 22001 value too long for type character varying(2) (PL/pgSQL function f line 1 at assignment)"],
    );
    check(
        "declare x int := 1 / 0; begin end",
        &[
            "failed 22012 division by zero (PL/pgSQL function f line 1 during statement block local variable initialization)",
        ],
    );
    check("declare x int; y alias for x; begin y := 3; raise notice '%', x; end", &["Notice 3", "done"]);
}

/// What PostgreSQL does not take is not taken, in its words.
#[test]
fn refused() {
    for (body, wanted) in [
        ("begin", "42601 syntax error at end of input"),
        ("begin foo; end", "42601 syntax error at or near \"foo\""),
        ("begin x := 1; end", "42601 \"x\" is not a known variable"),
        ("declare x int; x int; begin end", "42601 duplicate declaration at or near \"x\""),
        ("declare x constant int := 1; begin x := 2; end", "22005 variable \"x\" is declared CONSTANT"),
        (
            "declare x int not null; begin end",
            "22004 variable \"x\" must have a default value, since it's declared NOT NULL",
        ),
        ("begin if true raise notice 'a'; end if; end", "42601 missing \"THEN\" at end of SQL expression"),
        ("begin exit; end", "42601 EXIT cannot be used outside a loop, unless it has a label"),
        ("begin raise notice '%'; end", "42601 too few parameters specified for RAISE"),
        ("begin raise notice 'a', 1; end", "42601 too many parameters specified for RAISE"),
        ("begin null; exception when foo then null; end", "42704 unrecognized exception condition \"foo\""),
        ("begin perform 1 +; end", "42601 syntax error at end of input"),
        ("begin select 1 into y; end", "42601 \"y\" is not a known variable"),
        ("begin return 1; end", "42804 RETURN cannot have a parameter in function returning void"),
        ("begin commit; end", "0A000 COMMIT in PL/pgSQL is not supported"),
        ("begin null; end; 5", "42601 syntax error at or near \"5\""),
        ("declare x foo; begin end", "42704 type \"foo\" does not exist"),
        ("declare x u%rowtype; begin end", "42P01 relation \"u\" does not exist"),
        ("declare x u.a%type; begin end", "42601 syntax error at or near \"%\""),
        ("declare x t.c%type; begin end", "42601 syntax error at or near \"%\""),
    ] {
        assert_eq!(transcript(body), wanted, "{body}");
    }
}

/// A body that is too deep is refused before a stack is.
#[test]
fn depth_is_bounded() {
    let deep = format!("{}{}", "begin ".repeat(5_000), "end; ".repeat(5_000));
    assert_eq!(transcript(&deep), "54001 stack depth limit exceeded");
    let deep = format!("begin {}{} end", "if true then ".repeat(5_000), "end if; ".repeat(5_000));
    assert_eq!(transcript(&deep), "54001 stack depth limit exceeded");
}

proptest::proptest! {
    /// A client that sends garbage must get an error, not bring the site down.
    #[test]
    fn arbitrary_bodies_do_not_panic(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "begin", "end", "declare", "x", "int", ":=", ";", "if", "then", "else", "loop", "for", "in", "1", "..", "raise", "notice", "'%'",
            ",", "(", ")", "[", "]", "exception", "when", "others", "exit", "<<a>>", "select", "into", "from", "t", "case", "while", "$1", "#",
            "get", "diagnostics", "=", "row_count", "return", "execute", "using", "perform", "foreach", "array", "r", "record", "r.a", "null", "%",
        ]), 0..40),
        text in "(?s).{0,30}",
    ) {
        let _ = parse(&text, &RoutineHeader::default());
        let body = words.join(" ");
        let _ = parse(&body, &RoutineHeader::default());
        let _ = transcript(&format!("declare x int; r record; begin {body}; end"));
    }
}
