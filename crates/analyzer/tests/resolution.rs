//! What a name means, by examples whose answers are PostgreSQL's. `examples/resolution_against_postgresql` tries far more of them against a running one.

use analyzer::coercion::{SourceKind, Step, assignment, condition, explicit_cast};
use analyzer::common_type::{common_type, common_type_of};
use analyzer::facts::{Facts, Volatility};
use analyzer::functions::{Argument, Call, CallSurroundings, Meaning, resolve};
use analyzer::names::{quoted, type_name, type_name_with_modifier};
use analyzer::operators::{OperatorName, binary, of_array, prefix};
use analyzer::parameters::Parameters;
use analyzer::types::*;
use analyzer::{AnalysisError, BuiltIns, TypeId};

fn operator(name: &str, left: TypeId, right: TypeId) -> Result<TypeId, AnalysisError> {
    binary(&BuiltIns, OperatorName::new(name), left, right).map(|found| found.result)
}

fn call<'a>(name: &'a str, arguments: &'a [Argument<'a>]) -> Call<'a> {
    Call { schema: None, name, arguments, variadic: false, form: CallSurroundings::default() }
}

fn types(ids: &[TypeId]) -> Vec<Argument<'static>> {
    ids.iter().map(|id| Argument { type_id: *id, name: None }).collect()
}

fn function(name: &str, ids: &[TypeId]) -> Result<Meaning, AnalysisError> {
    resolve(&BuiltIns, &call(name, &types(ids)))
}

fn result(name: &str, ids: &[TypeId]) -> TypeId {
    match function(name, ids) {
        Ok(Meaning::Function(found)) => found.result,
        Ok(Meaning::Cast(target)) => target,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Wrong if implicit casts, preferred types or unknown literals did not lead where PostgreSQL goes.
#[test]
fn operators_are_chosen_by_their_sides() {
    assert_eq!(operator("+", INT4, INT8), Ok(INT8));
    assert_eq!(operator("+", INT4, FLOAT4), Ok(FLOAT8));
    assert_eq!(operator("+", INT4, NUMERIC), Ok(NUMERIC));
    assert_eq!(operator("||", UNKNOWN, UNKNOWN), Ok(TEXT));
    assert_eq!(operator("||", INT4, UNKNOWN), Ok(TEXT));
    assert_eq!(operator("-", DATE, DATE), Ok(INT4));
    assert_eq!(operator("-", TIMESTAMP, UNKNOWN), Ok(INTERVAL));
    assert_eq!(operator("||", TEXT_ARRAY, UNKNOWN), Ok(TEXT_ARRAY));
    assert_eq!(prefix(&BuiltIns, OperatorName::new("-"), FLOAT4).map(|found| found.result), Ok(FLOAT4));
    let found = of_array(&BuiltIns, OperatorName::new("="), INT4, UNKNOWN).expect("it is there");
    assert_eq!(found.arguments, [INT4, TypeId(1007)]);
}

/// Wrong if a message were not PostgreSQL's, word for word.
#[test]
fn operators_are_refused_as_postgresql_does() {
    let error = operator("+", INT4, BOOL).expect_err("there is none");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42883", "operator does not exist: integer + boolean"));
    let hint = "No operator matches the given name and argument types. You might need to add explicit type casts.";
    assert_eq!(error.hint.as_deref(), Some(hint));
    let error = operator("+", UNKNOWN, UNKNOWN).expect_err("several");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42725", "operator is not unique: unknown + unknown"));
    let error = of_array(&BuiltIns, OperatorName::new("="), INT4, INT4).expect_err("no array");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42809", "op ANY/ALL (array) requires array on right side"));
}

/// Wrong if arguments in place, by default, by name or for a VARIADIC parameter were not put where they belong.
#[test]
fn calls_find_their_parameters() {
    assert_eq!(result("abs", &[UNKNOWN]), FLOAT8);
    assert_eq!(result("length", &[VARCHAR]), INT4);
    assert_eq!(result("array_append", &[TEXT_ARRAY, UNKNOWN]), TEXT_ARRAY);
    assert_eq!(result("int8", &[UNKNOWN]), INT8);
    assert_eq!(result("text", &[INT4]), TEXT);
    let Ok(Meaning::Function(found)) = function("make_interval", &[INT4]) else { panic!("it has defaults") };
    assert_eq!((found.defaults, found.volatility), (6, Volatility::Immutable));
    let Ok(Meaning::Function(found)) = function("jsonb_extract_path", &[JSONB, UNKNOWN, TEXT]) else {
        panic!("variadic")
    };
    assert_eq!(found.collected, Some((2, TEXT_ARRAY)));
    let named = [Argument { type_id: INT4, name: Some("hours") }, Argument { type_id: FLOAT8, name: Some("secs") }];
    let Ok(Meaning::Function(found)) = resolve(&BuiltIns, &call("make_interval", &named)) else { panic!("by name") };
    assert_eq!(found.order, [4, 6, 0, 1, 2, 3, 5]);
}

/// Wrong if a call that PostgreSQL refuses were taken, or refused in other words.
#[test]
fn calls_are_refused_as_postgresql_does() {
    let error = function("length", &[INT4]).expect_err("there is none");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42883", "function length(integer) does not exist"));
    let error = function("array_ndims", &[UNKNOWN]).expect_err("nothing is known");
    let words = "could not determine polymorphic type because input has type unknown";
    assert_eq!((error.sqlstate, error.message.as_str()), ("42804", words));
    let error = function("row_number", &[]).expect_err("it needs OVER");
    assert_eq!(error.message, "window function row_number requires an OVER clause");
    let distinct = Call {
        form: CallSurroundings { distinct: true, ..CallSurroundings::default() },
        ..call("abs", &[Argument { type_id: INT4, name: None }])
    };
    let error = resolve(&BuiltIns, &distinct).expect_err("no aggregate");
    assert_eq!(error.message, "DISTINCT specified, but abs is not an aggregate function");
}

/// Wrong if a cast were allowed where PostgreSQL has none, or an assignment where it must be written.
#[test]
fn casts_depend_on_their_place() {
    let cast = |source, target| explicit_cast(&BuiltIns, source, SourceKind::Other, target);
    assert!(cast(INT4, BOOL).is_ok());
    let error = cast(DATE, INT4).expect_err("there is none");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42846", "cannot cast type date to integer"));
    assert_eq!(explicit_cast(&BuiltIns, UNKNOWN, SourceKind::Literal, DATE), Ok(vec![Step::Literal(DATE)]));
    assert!(assignment(&BuiltIns, INT8, SourceKind::Other, INT4, "c").is_ok());
    let error = assignment(&BuiltIns, INT4, SourceKind::Other, BOOL, "c").expect_err("only explicitly");
    assert_eq!(error.message, "column \"c\" is of type boolean but expression is of type integer");
    let error = condition(&BuiltIns, INT4, SourceKind::Other, "WHERE").expect_err("no boolean");
    assert_eq!(error.message, "argument of WHERE must be type boolean, not type integer");
}

/// Wrong if several expressions took another type than PostgreSQL gives them.
#[test]
fn several_expressions_have_one_type() {
    assert_eq!(common_type(&BuiltIns, &[UNKNOWN, UNKNOWN]), Ok(TEXT));
    assert_eq!(common_type(&BuiltIns, &[INT4, UNKNOWN, NUMERIC, INT2]), Ok(NUMERIC));
    assert_eq!(common_type(&BuiltIns, &[VARCHAR, TEXT]), Ok(VARCHAR));
    let (error, index) = common_type_of(&BuiltIns, &[INT4, UNKNOWN, TEXT], "UNION").expect_err("they do not match");
    assert_eq!((error.message.as_str(), index), ("UNION types integer and text cannot be matched", 2));
}

/// Wrong if a parameter changed its type with its second use, or ended without one.
#[test]
fn parameters_are_decided_once() {
    let mut parameters = Parameters::open(&[]);
    assert_eq!(parameters.use_of(2), Ok(UNKNOWN));
    parameters.decide(&BuiltIns, 2, INT4).expect("the first");
    assert_eq!(parameters.use_of(2), Ok(INT4));
    let error = parameters.decide(&BuiltIns, 2, TEXT).expect_err("another type");
    assert_eq!((error.sqlstate, error.detail.as_deref()), ("42P08", Some("integer versus text")));
    let error = parameters.settled().expect_err("the first is open");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42P18", "could not determine data type of parameter $1"));
    let error = Parameters::fixed(&[INT4]).use_of(2).expect_err("there is only one");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42P02", "there is no parameter $2"));
}

/// Wrong if names were not those of `format_type`.
#[test]
fn names_are_those_that_postgresql_prints() {
    let with = |id, modifier| type_name_with_modifier(&BuiltIns, id, modifier);
    assert_eq!(type_name(&BuiltIns, BPCHAR), "character");
    assert_eq!(with(BPCHAR, -1), "bpchar");
    assert_eq!(with(VARCHAR, 14), "character varying(10)");
    assert_eq!(with(NUMERIC, (10 << 16 | 2) + 4), "numeric(10,2)");
    assert_eq!(with(TIMESTAMPTZ, 3), "timestamp(3) with time zone");
    assert_eq!(with(INTERVAL, (1 << 10 | 1 << 11) << 16 | 0xffff), "interval hour to minute");
    assert_eq!(type_name(&BuiltIns, TEXT_ARRAY), "text[]");
    assert_eq!(type_name(&BuiltIns, CHAR), "\"char\"");
    assert_eq!(quoted("a\"B"), "\"a\"\"B\"");
    assert!(Facts::postgresql15().types.iter().all(|row| !type_name(&BuiltIns, row.id).is_empty()));
}
