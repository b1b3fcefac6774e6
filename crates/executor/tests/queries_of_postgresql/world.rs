//! Tables in memory, read from the tables that the tests of queries share, as a catalog and as what answers needs.

use analyzer::catalog::{BuiltIns, Found};
use analyzer::facts::{Aggregate, Cast, Function, Operator, Range, TypeRow};
use analyzer::relations::{Relation, RelationColumn, RelationId, RelationKind};
use analyzer::types::{CollationId, FunctionId, OperatorId, TypeKind};
use analyzer::{Catalog, Routine, RoutineForm, TypeId, Typed, analyze_routine};
use executor::{AccessPathKeys, DomainMeaning, KeyBounds, RelationPaths, ScanOrder, TableAccess};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use values::enumeration::EnumOrder;
use values::{EnumDefinition, Type, Value};

/// A table with its rows.
pub struct Table {
    pub relation: Relation,
    pub types: Vec<Type>,
    pub paths: Vec<AccessPathKeys>,
    pub rows: Vec<Vec<Value>>,
}

/// All tables.
pub struct World {
    tables: BTreeMap<RelationId, Table>,
    /// Types of their rows.
    rows: BTreeMap<TypeId, TypeRow>,
    /// Enum types, and those of their arrays.
    enums: BTreeMap<TypeId, (TypeRow, Type)>,
    /// What domains, which are among the enum types, ask of their values.
    domains: BTreeMap<TypeId, DomainMeaning>,
    /// How often it was asked whether the statement is still wanted.
    pub asked: Cell<u32>,
    /// So often the answer is yes.
    pub wanted: Cell<u32>,
}

impl World {
    /// The tables that `crates/query/tests/tables.txt` describes.
    pub fn new() -> World {
        World::of(include_str!("../../../query/tests/tables.txt"))
    }

    /// Those that a text describes in the same way.
    pub fn of(text: &str) -> World {
        let mut tables: Vec<Table> = Vec::new();
        let mut enums = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').expect("a word and the rest");
            if word == "enum" {
                enums.extend(enum_types(rest, 20_000 + 10 * enums.len() as u32));
            } else if word == "table" {
                tables.push(empty(rest, 16_384 + 10 * tables.len() as u32));
            } else {
                add(tables.last_mut().expect("a table comes first"), word, rest, &enums);
            }
        }
        let row_type = |table: &Table| {
            let record = BuiltIns.type_row(analyzer::types::RECORD).expect("a type of PostgreSQL's").clone();
            let (id, name, relation) = (table.relation.row, table.relation.name.clone(), table.relation.id.0);
            (id, TypeRow { id, name, relation, kind: analyzer::types::TypeKind::Composite, ..record })
        };
        let rows = tables.iter().map(row_type).collect();
        let tables = tables.into_iter().map(|table| (table.relation.id, table)).collect();
        World { tables, rows, enums, domains: BTreeMap::new(), asked: Cell::new(0), wanted: Cell::new(u32::MAX) }
    }

    /// The same with a domain over a type: its conditions, each with its name.
    pub fn with_domain(mut self, name: &str, base: &str, not_null: bool, conditions: &[(&str, &str)]) -> World {
        let stored: Type = base.parse().expect("a type");
        let (id, array) =
            (TypeId(30_000 + 2 * self.domains.len() as u32), TypeId(30_001 + 2 * self.domains.len() as u32));
        let below = BuiltIns.type_row(TypeId(stored.oid())).expect("a type of PostgreSQL's").clone();
        let of_array = BuiltIns.type_row(below.array).expect("a type of PostgreSQL's").clone();
        let typed = Typed { id: below.id, modifier: stored.typmod(), collation: below.collation };
        let boolean = Typed { id: analyzer::types::BOOL, modifier: -1, collation: CollationId(0) };
        let condition = |(own, text): &(&str, &str)| {
            let parsed = grammar::parse(&format!("SELECT {text}")).expect("a condition");
            let (parameters, form) = (vec![("value", typed)], RoutineForm::Default);
            let routine = Routine { name: "", parameters, result: vec![boolean], form };
            let analyzed = analyze_routine(&BuiltIns, &parsed.statements[0], &routine).expect("a condition");
            (analyzed, format!("value for domain {name} violates check constraint \"{own}\""))
        };
        let null = not_null.then(|| format!("domain {name} does not allow null values"));
        let meaning = DomainMeaning { null, conditions: conditions.iter().map(condition).collect() };
        let own_array = TypeRow { id: array, name: format!("_{name}").into(), element: id, ..of_array };
        let (base, base_modifier) = (below.id, stored.typmod());
        let own =
            TypeRow { id, name: name.to_owned().into(), kind: TypeKind::Domain, base, base_modifier, array, ..below };
        self.enums.extend([(id, (own, stored)), (array, (own_array, stored.array()))]);
        self.domains.insert(id, meaning);
        self
    }

    /// The rows that a scan is answered with, all at once.
    pub fn scan(&self, order: &ScanOrder) -> Vec<Vec<Value>> {
        let table = &self.tables[&order.relation];
        let columns = &table.paths[order.path].columns;
        let key = |row: &Vec<Value>| columns.iter().map(|column| row[*column as usize].clone()).collect::<Vec<_>>();
        let mut sorted: Vec<&Vec<Value>> = table.rows.iter().collect();
        sorted.sort_by(|left, right| compare(&key(left), &key(right)));
        let mut found = Vec::new();
        if order.reverse {
            sorted.reverse();
        }
        let mut ranges: Vec<&KeyBounds> = order.ranges.iter().collect();
        assert!(ranges.is_sorted_by(|one, other| compare(&one.lower, &other.lower).is_lt()), "ranges ascend");
        if order.reverse {
            ranges.reverse();
        }
        for range in ranges {
            check(range, columns, &table.types);
            let rows = sorted.iter().filter(|row| within(range, &key(row)));
            found.extend(rows.map(|row| order.columns.iter().map(|column| row[*column as usize].clone()).collect()));
        }
        found.truncate(order.limit.unwrap_or(usize::MAX));
        found
    }
}

/// Bounds have exactly the stored types, or a key made of them would be found nowhere.
fn check(range: &KeyBounds, columns: &[u32], types: &[Type]) {
    for prefix in [&range.lower, &range.upper] {
        for (value, column) in prefix.iter().zip(columns) {
            let (stored, given) = (types[*column as usize].unmodified(), value.data_type());
            let is_text = stored.is_string() && given == Some(Type::Text);
            assert!(is_text || given == Some(stored), "a bound of {given:?} for a column of {stored}");
        }
    }
}

fn compare(left: &[Value], right: &[Value]) -> Ordering {
    let pairs = left.iter().zip(right).map(|(left, right)| values::compare::compare(left, right));
    pairs.fold(Ordering::Equal, Ordering::then)
}

fn within(range: &KeyBounds, key: &[Value]) -> bool {
    let below = match compare(key, &range.lower) {
        Ordering::Less => true,
        Ordering::Equal => !range.lower.is_empty() && !range.lower_inclusive,
        Ordering::Greater => false,
    };
    let above = match compare(key, &range.upper) {
        Ordering::Greater => true,
        Ordering::Equal => !range.upper.is_empty() && !range.upper_inclusive,
        Ordering::Less => false,
    };
    !below && !above
}

fn empty(name: &str, oid: u32) -> Table {
    let relation = Relation {
        id: RelationId(oid),
        schema: "public".into(),
        name: name.to_owned().into(),
        kind: RelationKind::Table,
        row: TypeId(oid | 1 << 31),
        columns: Vec::new(),
        primary_key: None,
        constraints: Vec::new(),
        system: false,
    };
    Table { relation, types: Vec::new(), paths: vec![AccessPathKeys::default()], rows: Vec::new() }
}

fn add(table: &mut Table, word: &str, rest: &str, enums: &BTreeMap<TypeId, (TypeRow, Type)>) {
    match word {
        "column" => {
            let rest = rest.split(" default ").next().unwrap_or_default().trim_end_matches(" not null");
            let (name, type_name) = rest.split_once(' ').expect("a name and a type");
            let own = enums.values().find(|(row, _)| row.name == type_name);
            let (row, stored) = own.cloned().unwrap_or_else(|| {
                let stored: Type = type_name.parse().expect("a type");
                (BuiltIns.type_row(TypeId(stored.oid())).expect("a type of PostgreSQL's").clone(), stored)
            });
            let typed = Typed { id: row.id, modifier: stored.typmod(), collation: CollationId(row.collation.0) };
            table.types.push(stored);
            table.relation.columns.push(RelationColumn {
                name: name.to_owned().into(),
                typed,
                dropped: false,
                generated: false,
                identity_always: false,
            });
        }
        "key" => {
            table.paths[0] = AccessPathKeys { columns: numbers(table, rest), unique: true, is_prefix: false };
            table.relation.primary_key = Some(table.paths[0].columns.clone());
        }
        "index" | "unique" => {
            let (_, columns) = rest.split_once(' ').expect("a name and columns");
            let columns = numbers(table, columns);
            table.paths.push(AccessPathKeys { columns, unique: word == "unique", is_prefix: false });
        }
        "row" => {
            let texts = rest.split('\t').zip(&table.types);
            table.rows.push(texts.map(|(text, stored)| value(text, *stored)).collect());
        }
        other => panic!("the tables have a line that begins with {other}"),
    }
}

fn numbers(table: &Table, names: &str) -> Vec<u32> {
    names.split(' ').map(|name| table.relation.column(name).expect("a column")).collect()
}

fn value(text: &str, stored: Type) -> Value {
    if text == "\\N" {
        return Value::Null;
    }
    let parsed = values::text::parse(text, stored).expect("a value");
    values::cast::assign(&parsed, stored).expect("a value that fits")
}

/// An enum type of a name and labels, and that of its arrays.
fn enum_types(line: &str, oid: u32) -> [(TypeId, (TypeRow, Type)); 2] {
    let mut words = line.split(' ').map(str::to_owned);
    let name = words.next().expect("a name");
    let labels = EnumOrder::sequence().zip(words).collect();
    let definition = EnumDefinition { oid, name: name.clone(), catalog_name: name.clone(), labels };
    let stored = Type::Enum(definition.keep().expect("a type"));
    let (id, array) = (TypeId(oid), TypeId(oid + 1));
    let anyenum = BuiltIns.type_row(analyzer::types::ANYENUM).expect("a type of PostgreSQL's").clone();
    let text_array = BuiltIns.type_row(analyzer::types::TEXT_ARRAY).expect("a type of PostgreSQL's").clone();
    let of_array = TypeRow { id: array, name: format!("_{name}").into(), element: id, ..text_array };
    let own = TypeRow { id, name: name.into(), kind: TypeKind::Enum, category: 'E', array, ..anyenum };
    [(id, (own, stored)), (array, (of_array, stored.array()))]
}

impl RelationPaths for World {
    fn domain(&self, id: TypeId) -> Option<&DomainMeaning> {
        self.domains.get(&id)
    }

    fn user_type(&self, id: TypeId) -> Option<Type> {
        self.enums.get(&id).map(|(_, stored)| *stored)
    }

    fn access(&self, relation: RelationId) -> Option<TableAccess> {
        let table = self.tables.get(&relation)?;
        // As if there were many rows, so that keys are worth looking up.
        Some(TableAccess { rows: table.rows.len() as f64 * 1_000.0, paths: table.paths.clone() })
    }
}

/// The functions of all extensions that are built in, as if they had been created.
static EXTENSION_FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let all = values::extensions::EXTENSIONS.iter().flat_map(|known| known.functions);
    (20_001..).zip(all).map(|(oid, function)| evaluation::functions::extension_row(oid, function)).collect()
});

impl Catalog for World {
    fn is_cancelled(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() > self.wanted.get()
    }

    fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        let own = || self.enums.get(&id).map(|(row, _)| row);
        BUILT_INS.type_row(id).or_else(|| self.rows.get(&id)).or_else(own)
    }
    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        let own = || self.enums.values().map(|(row, _)| row).find(|row| row.name == name);
        BUILT_INS.type_named(schema, name).or_else(own)
    }
    fn function(&self, id: FunctionId) -> Option<&Function> {
        BUILT_INS.function(id).or_else(|| EXTENSION_FUNCTIONS.iter().find(|row| row.id == id))
    }
    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>> {
        let mut found = BUILT_INS.functions_named(schema, name);
        let own = EXTENSION_FUNCTIONS.iter().filter(|row| schema.is_none() && row.name == name);
        found.extend(own.map(|row| Found { place: 1, row }));
        found
    }
    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        BUILT_INS.operator(id)
    }
    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>> {
        BUILT_INS.operators_named(schema, name)
    }
    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        BUILT_INS.cast(source, target)
    }
    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        BUILT_INS.aggregate(id)
    }
    fn range(&self, id: TypeId) -> Option<&Range> {
        BUILT_INS.range(id)
    }
    fn range_of_multirange(&self, id: TypeId) -> Option<&Range> {
        BUILT_INS.range_of_multirange(id)
    }
    fn relation(&self, id: RelationId) -> Option<&Relation> {
        self.tables.get(&id).map(|table| &table.relation)
    }
    fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        let ours = schema.is_none_or(|schema| schema == "public");
        let named = self.tables.values().find(|table| table.relation.name == name && ours);
        named.map(|table| &table.relation)
    }
}

static BUILT_INS: BuiltIns = BuiltIns;
