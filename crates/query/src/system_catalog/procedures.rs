//! Procedures and functions of the user, as `pg_proc`, `information_schema` and `pg_get_functiondef` show them, and triggers; extensions and their functions.
//!
//! Invariant: what is shown as installed was created. The extension `plpgsql` never was: its language is part of the server.

use super::names::split_name;
use super::rows::{Row, row};
use super::{OWNER_OID, PG_CATALOG_OID, SystemCatalog, quoted};
use messages::namespace;
use messages::schema::{
    CommentTarget, ExtensionSchema, FunctionSchema, ProcedureSchema, RoutineResult, RoutineVolatility, TableSchema,
    TableSchemaKind, TriggerEvent, TriggerSchema,
};
use values::Type;
use values::extensions::{EXTENSIONS, Extension};
use values::functions::FunctionVolatility;

/// Identifier of the language `sql`.
pub const SQL_OID: u32 = 14;
/// Identifier of the language `plpgsql`, of those that PostgreSQL gives away when it is set up.
pub const PLPGSQL_OID: u32 = 13_563;
/// Identifier of the language `c`, which functions of extensions are written in.
pub const C_OID: u32 = 13;
/// The type `trigger`.
const TRIGGER_OID: u32 = 2_279;
/// Identifier of the type `void`, which procedures return.
const VOID_OID: u32 = 2278;
/// Identifier of the type `record`, which functions of several columns return.
const RECORD_OID: u32 = 2249;
/// What triggers may fire for, in the order of `pg_get_triggerdef`.
const EVENTS: [TriggerEvent; 4] =
    [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];

impl SystemCatalog {
    fn procedures(&self) -> impl Iterator<Item = &ProcedureSchema> {
        self.show();
        self.catalog.procedures.values().map(|(procedure, _)| procedure.as_ref())
    }

    fn procedure(&self, oid: u32) -> Option<&ProcedureSchema> {
        self.procedures().find(|procedure| procedure.oid == oid)
    }

    /// The identifier of a procedure of the user by its name, with or without schema and parameters. `None` when there is none.
    pub fn procedure_oid(&self, text: &str) -> Option<u32> {
        let parts = split_name(text.split('(').next()?).ok()?;
        let schemas = |schema: &str| self.catalog().namespace(schema).map(|known| known.oid).into_iter().collect();
        let (schemas, name): (Vec<u32>, _) = match parts.as_slice() {
            [name] => (self.path().to_vec(), name),
            [schema, name] => (schemas(schema), name),
            _ => return None,
        };
        let find = |schema: u32| {
            let known = namespace::within(name, schema);
            self.procedures().find(|procedure| procedure.name == known)
        };
        let found = schemas.iter().find_map(|schema| find(*schema)).map(|procedure| procedure.oid);
        found.or_else(|| self.extension_function_oid(name, &schemas))
    }

    /// `pg_get_function_arguments(oid)`. `None` when there is no such procedure.
    pub fn procedure_arguments(&self, oid: u32) -> Option<String> {
        let Some(procedure) = self.procedure(oid) else { return self.extension_function_arguments(oid) };
        Some(self.parameters_text(procedure, true))
    }

    /// The parameters as statements write them, but for columns of TABLE; with their defaults, or without.
    fn parameters_text(&self, procedure: &ProcedureSchema, has_defaults: bool) -> String {
        let defaults = procedure.function.as_ref().filter(|_| has_defaults).map(|known| known.defaults.as_slice());
        let defaults = defaults.unwrap_or_default();
        let first = procedure.parameters.len() - defaults.len().min(procedure.parameters.len());
        let (mut texts, mut inputs) = (Vec::new(), 0);
        for (mode, known) in procedure.all_parameters() {
            let word = match mode {
                'o' => "OUT ",
                'b' => "INOUT ",
                't' => continue,
                _ if procedure.function.is_none() => "IN ",
                _ => "",
            };
            let mut text = format!("{word}{}", self.parameter_text(known));
            if mode != 'o' {
                if let Some(default) = inputs_default(defaults, inputs, first) {
                    text += &format!(" DEFAULT {default}");
                }
                inputs += 1;
            }
            texts.push(text);
        }
        texts.join(", ")
    }

    /// `name type`.
    fn parameter_text(&self, (name, of): &(String, Type)) -> String {
        let type_name = self.type_text(of.oid(), None);
        if name.is_empty() { type_name } else { format!("{} {type_name}", quoted(name)) }
    }

    /// `pg_get_function_identity_arguments(oid)`: without defaults.
    pub fn procedure_identity(&self, oid: u32) -> Option<String> {
        match self.procedure(oid) {
            Some(known) => Some(self.parameters_text(known, false)),
            None => self.procedure_arguments(oid),
        }
    }

    /// `pg_get_function_result(oid)`. `None` for a procedure, or where there is none.
    pub fn function_result(&self, oid: u32) -> Option<String> {
        let function = self.procedure(oid)?.function.as_ref()?;
        let set = if function.returns_set { "SETOF " } else { "" };
        Some(match &function.result {
            RoutineResult::Value(of) => format!("{set}{}", self.type_text(of.oid(), None)),
            RoutineResult::Trigger => "trigger".to_owned(),
            RoutineResult::Columns(columns) if function.modes.ends_with('t') => {
                let columns: Vec<String> = columns.iter().map(|column| self.parameter_text(column)).collect();
                format!("TABLE({})", columns.join(", "))
            }
            RoutineResult::Columns(columns) => match columns.as_slice() {
                [(_, only)] => format!("{set}{}", self.type_text(only.oid(), None)),
                _ => format!("{set}record"),
            },
        })
    }

    /// `pg_get_functiondef(oid)`: what makes it again. `None` when there is no such procedure.
    pub fn procedure_definition(&self, oid: u32) -> Option<String> {
        let procedure = self.procedure(oid)?;
        let (name, arguments) = (self.qualified_name(&procedure.name), self.procedure_arguments(oid)?);
        let mut quote = format!("${}", procedure.word());
        while procedure.body.contains(&quote) {
            quote.push('x');
        }
        let (body, language) = (&procedure.body, language(procedure));
        if let Some(function) = &procedure.function {
            let result = self.function_result(oid)?;
            let volatility = match function.volatility {
                RoutineVolatility::Immutable => " IMMUTABLE",
                RoutineVolatility::Stable => " STABLE",
                RoutineVolatility::Volatile => "",
            };
            let parallel = match function.parallel {
                's' => " PARALLEL SAFE",
                'r' => " PARALLEL RESTRICTED",
                _ => "",
            };
            let strict = if function.is_strict { " STRICT" } else { "" };
            let mut options = format!("{volatility}{parallel}{strict}");
            if !options.is_empty() {
                options.push('\n');
            }
            let head =
                format!("CREATE OR REPLACE FUNCTION {name}({arguments})\n RETURNS {result}\n LANGUAGE {language}\n");
            return Some(format!("{head}{options}AS {quote}${body}{quote}$\n"));
        }
        Some(format!(
            "CREATE OR REPLACE PROCEDURE {name}({arguments})\n LANGUAGE {language}\nAS {quote}${body}{quote}$\n"
        ))
    }
}

/// The rows of `pg_proc`.
pub(super) fn rows(catalog: &SystemCatalog) -> Vec<Row> {
    let own = catalog.procedures().map(|procedure| procedure_row(catalog, procedure));
    own.chain(catalog.rows_of_extension_functions()).collect()
}

fn procedure_row(catalog: &SystemCatalog, procedure: &ProcedureSchema) -> Row {
    let types = procedure.inputs().map(|(_, argument_type)| i64::from(argument_type.oid()));
    let function = procedure.function.as_ref();
    let all = procedure.all_parameters();
    let is_named = all.iter().any(|(_, (name, _))| !name.is_empty());
    let names = is_named.then(|| all.iter().map(|(_, (name, _))| name.clone()).collect::<Vec<_>>());
    let has_modes = all.iter().any(|(mode, _)| *mode != 'i');
    let all_types = has_modes.then(|| all.iter().map(|(_, (_, of))| i64::from(of.oid())).collect::<Vec<_>>());
    let modes = has_modes.then(|| all.iter().map(|(mode, _)| mode.to_string()).collect::<Vec<_>>());
    let returns_set = function.is_some_and(|known| known.returns_set);
    let defaults = function.map_or(0, |known| known.defaults.len() as i64);
    row! {
        oid: procedure.oid, proname: namespace::bare(&procedure.name), pronamespace: namespace::of(&procedure.name), proowner: procedure.rights.owner,
        prolang: if procedure.plpgsql.is_some() { PLPGSQL_OID } else { SQL_OID }, procost: 100, prorows: if returns_set { 1000 } else { 0 }, provariadic: 0, prosupport: "-",
        prokind: if function.is_some() { "f" } else { "p" }, prosecdef: false,
        proleakproof: false, proisstrict: function.is_some_and(|known| known.is_strict), proretset: returns_set,
        provolatile: function.map_or("v", |known| match known.volatility {
            RoutineVolatility::Immutable => "i",
            RoutineVolatility::Stable => "s",
            RoutineVolatility::Volatile => "v",
        }),
        proparallel: function.map_or("u".to_owned(), |known| known.parallel.to_string()),
        pronargs: procedure.inputs().count() as i64, pronargdefaults: defaults,
        prorettype: match function {
            Some(function) => result_oid(function),
            None if procedure.outputs().is_empty() => VOID_OID,
            None => RECORD_OID,
        },
        proargtypes: types.collect::<Vec<_>>(), proallargtypes: all_types, proargmodes: modes, proargnames: names,
        proargdefaults: function.filter(|_| defaults > 0).map(|known| known.defaults.join(", ")),
        prosrc: procedure.body.as_str(),
        proacl: catalog.grant_texts(procedure.rights.grants.as_ref()),
    }
}

/// The default of an input parameter, if it has one. `first`: the first one that has.
fn inputs_default(defaults: &[String], input: usize, first: usize) -> Option<&String> {
    input.checked_sub(first).and_then(|place| defaults.get(place))
}

/// The type that a function returns.
fn result_oid(function: &FunctionSchema) -> u32 {
    match function.columns().as_slice() {
        [] => TRIGGER_OID,
        [(_, only)] => only.oid(),
        _ => RECORD_OID,
    }
}

/// The rows of `information_schema.routines`.
pub(super) fn routines(catalog: &SystemCatalog) -> Vec<Row> {
    let database = catalog.session().database.as_str();
    let routine = |procedure: &ProcedureSchema| {
        row! {
            specific_catalog: database, specific_schema: catalog.schema_of(&procedure.name), specific_name: specific_name(procedure),
            routine_catalog: database, routine_schema: catalog.schema_of(&procedure.name),
            routine_name: namespace::bare(&procedure.name),
            routine_type: if procedure.function.is_some() { "FUNCTION" } else { "PROCEDURE" }, routine_body: if procedure.plpgsql.is_some() { "EXTERNAL" } else { "SQL" },
            data_type: procedure.function.as_ref().map(|known| catalog.type_text(result_oid(known), None)),
            routine_definition: procedure.body.as_str(),
            external_language: language(procedure).to_uppercase(), parameter_style: "GENERAL",
            is_deterministic: match &procedure.function {
                Some(known) if known.volatility == RoutineVolatility::Immutable => "YES",
                _ => "NO",
            },
            sql_data_access: "MODIFIES",
            schema_level_routine: "YES", max_dynamic_result_sets: 0, security_type: "INVOKER",
        }
    };
    catalog.procedures().map(routine).collect()
}

/// The rows of `information_schema.parameters`.
pub(super) fn parameters(catalog: &SystemCatalog) -> Vec<Row> {
    let database = catalog.session().database.as_str();
    let of = |procedure: &ProcedureSchema| {
        let parameter = |(number, (mode, (name, parameter_type))): (i64, (char, &(String, Type)))| {
            row! {
                specific_catalog: database, specific_schema: catalog.schema_of(&procedure.name), specific_name: specific_name(procedure),
                ordinal_position: number, parameter_mode: match mode {
                    'o' | 't' => "OUT",
                    'b' => "INOUT",
                    _ => "IN",
                },
                is_result: "NO", as_locator: "NO",
                parameter_name: (!name.is_empty()).then_some(name.as_str()), data_type: parameter_type.base_name(),
                udt_catalog: database, udt_schema: "pg_catalog", udt_name: parameter_type.catalog_name(),
                dtd_identifier: number.to_string(),
            }
        };
        (1..).zip(procedure.all_parameters()).map(parameter).collect::<Vec<_>>()
    };
    catalog.procedures().flat_map(of).collect()
}

/// What it is written in.
fn language(procedure: &ProcedureSchema) -> &'static str {
    if procedure.plpgsql.is_some() { "plpgsql" } else { "sql" }
}

fn specific_name(procedure: &ProcedureSchema) -> String {
    format!("{}_{}", namespace::bare(&procedure.name), procedure.oid)
}

impl SystemCatalog {
    fn extensions(&self) -> impl Iterator<Item = &ExtensionSchema> {
        self.show();
        self.catalog.extensions.values().map(|(known, _)| known.as_ref())
    }

    /// Whether a name without a schema means a function of an extension that was created.
    pub fn has_extension_function(&self, name: &str) -> bool {
        self.catalog.extension_of(name).is_some()
    }

    /// The identifier of an extension's function by its name, in one of these schemas.
    pub(super) fn extension_function_oid(&self, name: &str, schemas: &[u32]) -> Option<u32> {
        let known = schemas.iter().find_map(|schema| self.catalog.extension_of(&namespace::within(name, *schema)));
        known?.0.numbered().find(|(_, function)| function.name == name).map(|(oid, _)| oid)
    }

    /// What `pg_get_function_arguments` says of an extension's function.
    pub(super) fn extension_function_arguments(&self, oid: u32) -> Option<String> {
        let mut all = self.extensions().flat_map(ExtensionSchema::numbered);
        let (_, function) = all.find(|(known, _)| *known == oid)?;
        Some(function.parameters.iter().map(|known| self.type_text(*known, None)).collect::<Vec<_>>().join(", "))
    }

    /// The rows of `pg_extension`.
    pub(super) fn rows_of_extensions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| {
            let relocatable = values::extensions::extension(&known.name).is_some_and(|known| known.is_relocatable);
            row! {
                oid: known.oid, extname: known.name.as_str(), extowner: known.rights.owner, extnamespace: known.namespace,
                extrelocatable: relocatable, extversion: known.version.as_str(),
            }
        };
        self.extensions().map(of_one).collect()
    }

    fn installed_version(&self, known: &Extension) -> Option<String> {
        self.extensions().find(|one| one.name == known.name).map(|one| one.version.clone())
    }

    /// The rows of `pg_available_extensions`.
    pub(super) fn rows_of_available_extensions(&self) -> Vec<Row> {
        let of_one = |known: &Extension| {
            row! {
                name: known.name, default_version: known.version, installed_version: self.installed_version(known),
                comment: known.comment,
            }
        };
        EXTENSIONS.iter().map(of_one).collect()
    }

    /// The rows of `pg_available_extension_versions`.
    pub(super) fn rows_of_extension_versions(&self) -> Vec<Row> {
        let of_one = |known: &Extension| {
            row! {
                name: known.name, version: known.version, installed: self.installed_version(known).is_some(),
                superuser: true, trusted: true, relocatable: known.is_relocatable, comment: known.comment,
            }
        };
        EXTENSIONS.iter().map(of_one).collect()
    }

    /// The rows of `pg_proc` of extensions' functions.
    pub(super) fn rows_of_extension_functions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| -> Vec<Row> {
            let functions = known.numbered();
            functions
                .map(|(oid, function)| {
                    let volatility = match function.volatility {
                        FunctionVolatility::Immutable => "i",
                        FunctionVolatility::Stable => "s",
                        FunctionVolatility::Volatile => "v",
                    };
                    let types: Vec<i64> = function.parameters.iter().map(|known| i64::from(*known)).collect();
                    row! {
                        oid: oid, proname: function.name, pronamespace: known.namespace, proowner: OWNER_OID,
                        prolang: C_OID, procost: 1, prorows: if function.returns_set() { 1000 } else { 0 }, provariadic: 0,
                        prosupport: "-", prokind: "f", prosecdef: false, proleakproof: false,
                        proisstrict: function.is_strict(), proretset: function.returns_set(), provolatile: volatility,
                        proparallel: "s", pronargs: types.len() as i64, pronargdefaults: 0, prorettype: function.result,
                        proargtypes: types, prosrc: function.source, probin: format!("$libdir/{}", known.name),
                    }
                })
                .collect()
        };
        self.extensions().flat_map(of_one).collect()
    }

    /// The rows of `pg_depend` of extensions on their schemas, and of functions on their extensions.
    pub(super) fn dependences_of_extensions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| -> Vec<Row> {
            let own = row! {
                classid: CommentTarget::EXTENSIONS, objid: known.oid, objsubid: 0, refclassid: CommentTarget::SCHEMAS,
                refobjid: known.namespace, refobjsubid: 0, deptype: "n",
            };
            let of_function = |oid: u32| {
                row! {
                    classid: CommentTarget::PROCEDURES, objid: oid, objsubid: 0, refclassid: CommentTarget::EXTENSIONS,
                    refobjid: known.oid, refobjsubid: 0, deptype: "e",
                }
            };
            std::iter::once(own).chain(known.numbered().map(|(oid, _)| of_function(oid))).collect()
        };
        self.extensions().flat_map(of_one).collect()
    }
}

/// All triggers with their tables.
fn triggers(catalog: &SystemCatalog) -> impl Iterator<Item = (&TableSchema, &TriggerSchema)> {
    catalog.tables().flat_map(|table| table.triggers.iter().map(move |trigger| (table, trigger)))
}

/// The call of a trigger's function, as it is written.
fn trigger_call(catalog: &SystemCatalog, trigger: &TriggerSchema) -> String {
    let arguments: Vec<String> = trigger.arguments.iter().map(|one| format!("'{}'", one.replace('\'', "''"))).collect();
    let found = catalog.path().iter().find(|schema| {
        catalog.catalog.procedures.contains_key(&namespace::within(namespace::bare(&trigger.function.0), **schema))
    });
    let schema = namespace::of(&trigger.function.0);
    let name = match schema == PG_CATALOG_OID || found == Some(&schema) {
        true => quoted(namespace::bare(&trigger.function.0)),
        false => catalog.qualified_name(&trigger.function.0),
    };
    format!("{name}({})", arguments.join(", "))
}

/// The rows of `pg_trigger`.
pub(super) fn trigger_rows(catalog: &SystemCatalog) -> Vec<Row> {
    let of_one = |(table, trigger): (&TableSchema, &TriggerSchema)| {
        let columns: Vec<i64> = trigger.columns.iter().map(|column| *column as i64 + 1).collect();
        let arguments: Vec<u8> = trigger.arguments.iter().flat_map(|one| one.bytes().chain([0])).collect();
        row! {
            oid: trigger.oid, tgrelid: table.oid, tgparentid: 0, tgname: trigger.name.as_str(), tgfoid: trigger.function.1,
            tgtype: i64::from(trigger.bits()), tgenabled: if trigger.is_enabled { "O" } else { "D" }, tgisinternal: false,
            tgconstrrelid: 0, tgconstrindid: 0, tgconstraint: 0, tgdeferrable: false, tginitdeferred: false,
            tgnargs: trigger.arguments.len() as i64,
            tgargs: arguments, tgattr: columns, tgqual: trigger.condition.clone(),
            tgoldtable: trigger.transitions.old.clone(), tgnewtable: trigger.transitions.new.clone(),
        }
    };
    triggers(catalog).map(of_one).collect()
}

/// The rows of `information_schema.triggers`: one for each event.
pub(super) fn trigger_information(catalog: &SystemCatalog) -> Vec<Row> {
    let database = catalog.session().database.as_str();
    let mut rows = Vec::new();
    for (table, trigger) in triggers(catalog) {
        let schema = catalog.schema_of(&table.name);
        for event in EVENTS.into_iter().filter(|event| trigger.events.has(*event)) {
            rows.push(row! {
                trigger_catalog: database, trigger_schema: schema.as_str(), trigger_name: trigger.name.as_str(),
                event_manipulation: event.word(), event_object_catalog: database, event_object_schema: schema.as_str(),
                event_object_table: namespace::bare(&table.name), action_order: 1,
                action_condition: trigger.condition.as_ref().map(|condition| format!("({condition})")),
                action_statement: format!("EXECUTE FUNCTION {}", trigger_call(catalog, trigger)),
                action_orientation: if trigger.is_for_rows { "ROW" } else { "STATEMENT" },
                action_timing: trigger.timing.word(), action_reference_old_table: trigger.transitions.old.clone(),
                action_reference_new_table: trigger.transitions.new.clone(),
            });
        }
    }
    rows
}

impl SystemCatalog {
    /// `pg_relation_is_updatable`: what can be done to rows of a relation, as bits.
    pub fn changes_of(&self, relation: u32, by_triggers: bool) -> i32 {
        const UPDATED: i32 = 1 << 2;
        const INSERTED: i32 = 1 << 3;
        const DELETED: i32 = 1 << 4;
        let Some(table) = self.tables().find(|table| table.oid == relation) else { return 0 };
        let events =
            [(TriggerEvent::Update, UPDATED), (TriggerEvent::Insert, INSERTED), (TriggerEvent::Delete, DELETED)];
        let is_changed = table.kind() == TableSchemaKind::Table || !table.changed.is_empty();
        let can = |event| is_changed || by_triggers && table.triggers.iter().any(|known| known.is_instead_of(event));
        events.into_iter().filter(|(event, _)| can(*event)).map(|(_, bit)| bit).sum()
    }

    /// `pg_column_is_updatable`: whether rows of the relation can be updated, and deleted, through it.
    pub fn is_column_updatable(&self, relation: u32, column: i64, by_triggers: bool) -> bool {
        let Some(table) = self.tables().find(|table| table.oid == relation) else { return false };
        let Some(place) = usize::try_from(column - 1).ok().filter(|place| *place < table.columns.len()) else {
            return false;
        };
        let is = |event| by_triggers && table.triggers.iter().any(|known| known.is_instead_of(event));
        match table.kind() {
            TableSchemaKind::Table => true,
            TableSchemaKind::View => {
                table.changed.contains(&place) || is(TriggerEvent::Update) && is(TriggerEvent::Delete)
            }
            _ => false,
        }
    }
}

/// REFERENCING of a trigger.
fn transitions(trigger: &TriggerSchema) -> String {
    let (old, new) = (&trigger.transitions.old, &trigger.transitions.new);
    let tables = [("OLD", old), ("NEW", new)].into_iter().filter_map(|(which, name)| Some((which, name.as_ref()?)));
    let tables: Vec<String> = tables.map(|(which, name)| format!("{which} TABLE AS {} ", quoted(name))).collect();
    if tables.is_empty() { String::new() } else { format!("REFERENCING {}", tables.concat()) }
}

/// `pg_get_triggerdef(oid)`: what makes it again. `None` when there is no such trigger.
pub fn trigger_definition(catalog: &SystemCatalog, oid: u32) -> Option<String> {
    let (table, trigger) = triggers(catalog).find(|(_, trigger)| trigger.oid == oid)?;
    let events = EVENTS.into_iter().filter(|event| trigger.events.has(*event)).map(|event| {
        let columns: Vec<String> = trigger.columns.iter().map(|column| quoted(&table.columns[*column].name)).collect();
        match event {
            TriggerEvent::Update if !columns.is_empty() => format!("UPDATE OF {}", columns.join(", ")),
            event => event.word().to_owned(),
        }
    });
    let events = events.collect::<Vec<_>>().join(" OR ");
    let when = trigger.timing.word();
    let each = if trigger.is_for_rows { "ROW" } else { "STATEMENT" };
    let condition = trigger.condition.as_ref().map_or_else(String::new, |condition| format!(" WHEN (({condition}))"));
    let (name, on) = (quoted(&trigger.name), catalog.qualified_name(&table.name));
    let call = trigger_call(catalog, trigger);
    let transitions = transitions(trigger);
    Some(format!(
        "CREATE TRIGGER {name} {when} {events} ON {on} {transitions}FOR EACH {each}{condition} EXECUTE FUNCTION {call}"
    ))
}
