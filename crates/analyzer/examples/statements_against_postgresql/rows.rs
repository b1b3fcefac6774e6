//! How rows of the system catalogs become those of the analyzer.

use std::borrow::Cow;
use std::error::Error;

use analyzer::facts::{
    Aggregate, Cast, CastContext, CastMethod, FamilyOperator, Function, FunctionKind, Operator, OperatorClass,
    Parameter, ParameterMode, Range, Text, TypeRow, Volatility,
};
use analyzer::relations::{Relation, RelationColumn, RelationId, RelationKind};
use analyzer::types::{CollationId, FunctionId, OperatorId, TypeId, TypeKind, Typed};

use crate::objects::Layer;
use crate::support::server::Server;

/// Where numbers of users' objects begin.
const FIRST_OF_USERS: u32 = 16_384;

/// A row, taken from left to right.
struct Fields(std::vec::IntoIter<Option<String>>);

impl Fields {
    fn optional(&mut self) -> Option<String> {
        self.0.next().flatten()
    }

    fn string(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    fn text(&mut self) -> Text {
        Cow::Owned(self.string())
    }

    fn number<Number: std::str::FromStr + Default>(&mut self) -> Number {
        self.string().parse().unwrap_or_default()
    }

    fn flag(&mut self) -> bool {
        self.string() == "t"
    }

    fn letter(&mut self) -> char {
        self.string().chars().next().unwrap_or(' ')
    }

    /// Numbers or words with blanks between them.
    fn words(&mut self) -> Vec<String> {
        self.string().split(' ').filter(|word| !word.is_empty()).map(str::to_string).collect()
    }

    fn types(&mut self) -> Vec<TypeId> {
        self.words().iter().map(|word| TypeId(word.parse().unwrap_or_default())).collect()
    }
}

fn read(server: &mut Server, sql: &str) -> Result<Vec<Fields>, Box<dyn Error>> {
    Ok(server.rows(sql)?.into_iter().map(|row| Fields(row.into_iter())).collect())
}

/// All objects of users, or all others that the facts do not have.
pub fn layer(server: &mut Server, users: bool) -> Result<Layer, Box<dyn Error>> {
    let mut layer = Layer::default();
    let which = |oid: &str| {
        if users { format!("{oid} >= {FIRST_OF_USERS}") } else { format!("{oid} < {FIRST_OF_USERS}") }
    };
    types(server, &mut layer, &which("t.oid"))?;
    functions(server, &mut layer, &which("p.oid"))?;
    relations(server, &mut layer, &which("c.oid"))?;
    if users {
        operators(server, &mut layer, &which("o.oid"))?;
        classes(server, &mut layer)?;
    }
    let sql = format!(
        "select nspname::text, collname::text, c.oid::text from pg_catalog.pg_collation c join pg_catalog.pg_namespace n on n.oid = collnamespace \
         where {} and collencoding in (-1, pg_catalog.pg_char_to_encoding('UTF8'))",
        which("c.oid")
    );
    for mut row in read(server, &sql)? {
        layer.collations.insert((row.string(), row.string()), CollationId(row.number()));
    }
    Ok(layer)
}

fn types(server: &mut Server, layer: &mut Layer, which: &str) -> Result<(), Box<dyn Error>> {
    let sql = format!(
        "select nspname::text, t.oid::text, typname::text, case when pg_catalog.pg_type_is_visible(t.oid) then null else nspname::text end, typlen, \
         typbyval, typtype, typcategory, typispreferred, typdelim, typrelid::text, typelem::text, typarray::text, \
         typsubscript::oid = 6179, case when typisdefined then typinput::text else 'shell_in' end, typmodin::text, typstorage, typbasetype::text, \
         typtypmod, typcollation::text \
         from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = typnamespace where {which}"
    );
    for mut row in read(server, &sql)? {
        let schema = row.string();
        let (id, name) = (TypeId(row.number()), row.text());
        let made = TypeRow {
            id,
            name: name.clone(),
            schema: row.optional().map(Cow::Owned),
            length: row.number(),
            by_value: row.flag(),
            kind: match row.letter() {
                'c' => TypeKind::Composite,
                'd' => TypeKind::Domain,
                'e' => TypeKind::Enum,
                'm' => TypeKind::Multirange,
                'p' => TypeKind::Pseudo,
                'r' => TypeKind::Range,
                _ => TypeKind::Base,
            },
            category: row.letter(),
            preferred: row.flag(),
            delimiter: row.letter(),
            relation: row.number(),
            element: TypeId(row.number()),
            array: TypeId(row.number()),
            is_array: row.flag(),
            input: row.text(),
            output: Cow::Borrowed("-"),
            receive: Cow::Borrowed("-"),
            send: Cow::Borrowed("-"),
            modifier_input: row.text(),
            modifier_output: Cow::Borrowed("-"),
            alignment: 'i',
            storage: row.letter(),
            base: TypeId(row.number()),
            base_modifier: row.number(),
            collation: CollationId(row.number()),
        };
        layer.types.insert(id, made);
        layer.type_names.insert((schema, name.into_owned()), id);
    }
    let which = which.replace("t.oid", "rngtypid");
    let sql = format!(
        "select rngtypid::oid::text, rngsubtype::oid::text, rngmultitypid::oid::text, rngcollation::text, rngsubopc::text from pg_catalog.pg_range where {which}"
    );
    for mut row in read(server, &sql)? {
        let id = TypeId(row.number());
        let made = Range {
            id,
            element: TypeId(row.number()),
            multirange: TypeId(row.number()),
            collation: CollationId(row.number()),
            operator_class: row.number(),
            canonical: Cow::Borrowed("-"),
            difference: Cow::Borrowed("-"),
        };
        layer.ranges.insert(id, made);
    }
    Ok(())
}

fn functions(server: &mut Server, layer: &mut Layer, which: &str) -> Result<(), Box<dyn Error>> {
    let sql = format!(
        "select nspname::text, p.oid::text, proname::text, provariadic::text, prokind, proisstrict, proretset, provolatile, pronargdefaults, \
         prorettype::text, proargtypes::text, pg_catalog.array_to_string(proallargtypes, ' '), pg_catalog.array_to_string(proargmodes, ' '), \
         pg_catalog.array_to_string(proargnames, e'\\x01') \
         from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = pronamespace \
         where {which} and (p.oid >= {FIRST_OF_USERS} or nspname <> 'pg_catalog')"
    );
    for mut row in read(server, &sql)? {
        let schema = row.string();
        let (id, name) = (FunctionId(row.number()), row.text());
        let mut made = Function {
            id,
            name: name.clone(),
            language: Cow::Borrowed(""),
            cost: 1.0,
            rows: 0.0,
            variadic: TypeId(row.number()),
            kind: match row.letter() {
                'p' => FunctionKind::Procedure,
                'a' => FunctionKind::Aggregate,
                'w' => FunctionKind::Window,
                _ => FunctionKind::Function,
            },
            leakproof: false,
            strict: row.flag(),
            returns_set: row.flag(),
            volatility: match row.letter() {
                'i' => Volatility::Immutable,
                's' => Volatility::Stable,
                _ => Volatility::Volatile,
            },
            parallel: 'u',
            defaults: row.number(),
            result: TypeId(row.number()),
            arguments: row.types(),
            parameters: Vec::new(),
            default_text: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            body: None,
        };
        let all = row.types();
        let modes = row.words();
        let names: Vec<String> =
            row.optional().map(|names| names.split('\u{1}').map(str::to_string).collect()).unwrap_or_default();
        let types = if all.is_empty() { made.arguments.clone() } else { all };
        if !modes.is_empty() || !names.is_empty() {
            let parameter = |(index, type_id): (usize, TypeId)| Parameter {
                name: Cow::Owned(names.get(index).cloned().unwrap_or_default()),
                mode: match modes.get(index).map(String::as_str) {
                    Some("o") => ParameterMode::Out,
                    Some("b") => ParameterMode::InOut,
                    Some("v") => ParameterMode::Variadic,
                    Some("t") => ParameterMode::Table,
                    _ => ParameterMode::In,
                },
                type_id,
            };
            made.parameters = types.into_iter().enumerate().map(parameter).collect();
        }
        layer.functions.insert(id, made);
        layer.function_names.entry((schema, name.into_owned())).or_default().push(id);
    }
    let which = which.replace("p.oid", "aggfnoid::oid");
    let sql = format!(
        "select aggfnoid::oid::text, aggkind, aggnumdirectargs, aggtransfn::oid::text, aggsortop::text, aggtranstype::text from pg_catalog.pg_aggregate where {which}"
    );
    for mut row in read(server, &sql)? {
        let function = FunctionId(row.number());
        let made = Aggregate {
            function,
            kind: row.letter(),
            direct_arguments: row.number(),
            transition: FunctionId(row.number()),
            last: FunctionId(0),
            last_takes_arguments: false,
            sort_operator: OperatorId(row.number()),
            state: TypeId(row.number()),
            initial: None,
        };
        layer.aggregates.insert(function, made);
    }
    Ok(())
}

fn operators(server: &mut Server, layer: &mut Layer, which: &str) -> Result<(), Box<dyn Error>> {
    let sql = format!(
        "select nspname::text, o.oid::text, oprname::text, oprleft::text, oprright::text, oprresult::text, oprcanmerge, oprcanhash, oprcom::text, oprnegate::text, \
         oprcode::oid::text from pg_catalog.pg_operator o join pg_catalog.pg_namespace n on n.oid = oprnamespace where {which}"
    );
    for mut row in read(server, &sql)? {
        let schema = row.string();
        let (id, name) = (OperatorId(row.number()), row.text());
        let made = Operator {
            id,
            name: name.clone(),
            left: TypeId(row.number()),
            right: TypeId(row.number()),
            result: TypeId(row.number()),
            merges: row.flag(),
            hashes: row.flag(),
            commutator: OperatorId(row.number()),
            negator: OperatorId(row.number()),
            function: FunctionId(row.number()),
            restriction_estimator: Cow::Borrowed("-"),
            join_estimator: Cow::Borrowed("-"),
        };
        layer.operators.insert(id, made);
        layer.operator_names.entry((schema, name.into_owned())).or_default().push(id);
    }
    let sql = format!(
        "select castsource::text, casttarget::text, castfunc::text, castcontext, castmethod from pg_catalog.pg_cast where oid >= {FIRST_OF_USERS}"
    );
    for mut row in read(server, &sql)? {
        let (source, target, function) = (TypeId(row.number()), TypeId(row.number()), FunctionId(row.number()));
        let context = match row.letter() {
            'i' => CastContext::Implicit,
            'a' => CastContext::Assignment,
            _ => CastContext::Explicit,
        };
        let method = match row.letter() {
            'f' => CastMethod::Function(function),
            'b' => CastMethod::Relabel,
            _ => CastMethod::ThroughText,
        };
        layer.casts.insert((source, target), Cast { source, target, context, method });
    }
    Ok(())
}

fn classes(server: &mut Server, layer: &mut Layer) -> Result<(), Box<dyn Error>> {
    let sql = format!(
        "select c.oid::text, amname::text, opcname::text, opcfamily::text, opcintype::text, opcdefault, opckeytype::text \
         from pg_catalog.pg_opclass c join pg_catalog.pg_am a on a.oid = opcmethod where c.oid >= {FIRST_OF_USERS}"
    );
    for mut row in read(server, &sql)? {
        layer.classes.push(OperatorClass {
            id: row.number(),
            method: row.text(),
            name: row.text(),
            family: row.number(),
            input: TypeId(row.number()),
            default: row.flag(),
            key: TypeId(row.number()),
        });
    }
    let sql = format!(
        "select amopfamily::text, amoplefttype::text, amoprighttype::text, amopstrategy, amoppurpose, amopopr::text, amopsortfamily::text \
         from pg_catalog.pg_amop where oid >= {FIRST_OF_USERS}"
    );
    for mut row in read(server, &sql)? {
        layer.family_operators.push(FamilyOperator {
            family: row.number(),
            left: TypeId(row.number()),
            right: TypeId(row.number()),
            strategy: row.number(),
            purpose: row.letter(),
            operator: OperatorId(row.number()),
            sort_family: row.number(),
        });
    }
    let sql = "select p.reltype::text, q.reltype::text from pg_catalog.pg_inherits i join pg_catalog.pg_class p on p.oid = inhrelid \
               join pg_catalog.pg_class q on q.oid = inhparent \
               union all select reltype::text, reloftype::text from pg_catalog.pg_class where reloftype <> 0";
    for mut row in read(server, sql)? {
        layer.parents.insert((TypeId(row.number()), TypeId(row.number())));
    }
    Ok(())
}

fn relations(server: &mut Server, layer: &mut Layer, which: &str) -> Result<(), Box<dyn Error>> {
    let sql = format!(
        "select nspname::text, c.oid::text, relname::text, relkind, reltype::text, \
         (select pg_catalog.array_to_string(conkey, ' ') from pg_catalog.pg_constraint where conrelid = c.oid and contype = 'p' and not condeferrable), \
         (select pg_catalog.string_agg(conname::text, ' ') from pg_catalog.pg_constraint where conrelid = c.oid) \
         from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = relnamespace where {which}"
    );
    for mut row in read(server, &sql)? {
        let schema = row.string();
        let (id, name) = (RelationId(row.number()), row.text());
        let made = Relation {
            id,
            schema: Cow::Owned(schema.clone()),
            name: name.clone(),
            kind: match row.letter() {
                'p' => RelationKind::PartitionedTable,
                'v' => RelationKind::View,
                'm' => RelationKind::MaterializedView,
                'f' => RelationKind::ForeignTable,
                'S' => RelationKind::Sequence,
                'i' | 'I' => RelationKind::Index,
                'c' => RelationKind::CompositeType,
                't' => RelationKind::Toast,
                _ => RelationKind::Table,
            },
            row: TypeId(row.number()),
            columns: Vec::new(),
            primary_key: row
                .optional()
                .map(|key| key.split(' ').filter_map(|number| Some(number.parse::<u32>().ok()? - 1)).collect()),
            constraints: row.words().into_iter().map(Cow::Owned).collect(),
            system: schema == "pg_catalog",
        };
        layer.relations.insert(id, made);
        layer.relation_names.insert((schema, name.into_owned()), id);
    }
    let which = which.replace("c.oid", "attrelid");
    let sql = format!(
        "select attrelid::text, attname::text, atttypid::text, atttypmod, attcollation::text, attisdropped, attgenerated <> '', attidentity = 'a' \
         from pg_catalog.pg_attribute where attnum > 0 and {which} order by attrelid, attnum"
    );
    for mut row in read(server, &sql)? {
        let id = RelationId(row.number());
        let Some(relation) = layer.relations.get_mut(&id) else { continue };
        relation.columns.push(RelationColumn {
            name: row.text(),
            typed: Typed { id: TypeId(row.number()), modifier: row.number(), collation: CollationId(row.number()) },
            dropped: row.flag(),
            generated: row.flag(),
            identity_always: row.flag(),
        });
    }
    Ok(())
}
