//! The objects of a database, read from its system catalogs, as the analyzer's catalog.
//!
//! Those that `initdb` makes are read once for a database; those of users anew after each statement that may have changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use analyzer::Catalog;
use analyzer::catalog::{Found, SYSTEM_SCHEMA};
use analyzer::facts::{Aggregate, Cast, FamilyOperator, Function, Operator, OperatorClass, Range, TypeRow};
use analyzer::relations::{Relation, RelationId};
use analyzer::types::{CollationId, FunctionId, OperatorId, TypeId};

use crate::rows;
use crate::support::server::Server;

/// A schema and a name in it.
type Name = (String, String);

/// Objects that were read together.
#[derive(Default)]
pub struct Layer {
    pub types: BTreeMap<TypeId, TypeRow>,
    pub type_names: BTreeMap<Name, TypeId>,
    pub functions: BTreeMap<FunctionId, Function>,
    pub function_names: BTreeMap<Name, Vec<FunctionId>>,
    pub operators: BTreeMap<OperatorId, Operator>,
    pub operator_names: BTreeMap<Name, Vec<OperatorId>>,
    pub casts: BTreeMap<(TypeId, TypeId), Cast>,
    pub aggregates: BTreeMap<FunctionId, Aggregate>,
    pub ranges: BTreeMap<TypeId, Range>,
    pub relations: BTreeMap<RelationId, Relation>,
    pub relation_names: BTreeMap<Name, RelationId>,
    pub collations: BTreeMap<Name, CollationId>,
    pub classes: Vec<OperatorClass>,
    pub family_operators: Vec<FamilyOperator>,
    pub parents: BTreeSet<(TypeId, TypeId)>,
}

/// All objects of a database.
#[derive(Default)]
pub struct Objects {
    database: String,
    path: Vec<String>,
    temporary: Option<String>,
    schemas: BTreeSet<String>,
    system: Layer,
    users: Layer,
}

impl Objects {
    /// Those of the database that a connection is to.
    pub fn of(server: &mut Server) -> Result<Objects, Box<dyn Error>> {
        let database = server.rows("select current_database()::text")?.remove(0).remove(0).unwrap_or_default();
        let system = rows::layer(server, false)?;
        let mut objects = Objects { database, system, ..Objects::default() };
        objects.refresh(server)?;
        Ok(objects)
    }

    /// Reads those of users anew, and the search path.
    pub fn refresh(&mut self, server: &mut Server) -> Result<(), Box<dyn Error>> {
        let sql = "select unnest(pg_catalog.current_schemas(true))::text";
        self.path = server.rows(sql)?.into_iter().filter_map(|mut row| row.remove(0)).collect();
        let sql =
            "select nspname::text, nspname = pg_my_temp_schema()::regnamespace::text from pg_catalog.pg_namespace";
        self.schemas.clear();
        self.temporary = self.path.iter().find(|schema| schema.starts_with("pg_temp_")).cloned();
        for mut row in server.rows(sql)? {
            let is_temporary = row.remove(1).as_deref() == Some("t");
            let Some(name) = row.remove(0) else { continue };
            if is_temporary {
                self.temporary = Some(name.clone());
            }
            self.schemas.insert(name);
        }
        self.users = rows::layer(server, true)?;
        Ok(())
    }

    fn layers(&self) -> [&Layer; 2] {
        [&self.users, &self.system]
    }

    /// Schemas to look in, with their places.
    fn places(&self, schema: Option<&str>, temporary: bool) -> Vec<(usize, &str)> {
        match schema {
            Some("pg_temp") => self.temporary.as_deref().map(|name| (0, name)).into_iter().collect(),
            Some(schema) => self.schemas.get(schema).map(|name| (0, name.as_str())).into_iter().collect(),
            None => {
                let all = self.path.iter().enumerate().map(|(place, name)| (place, name.as_str()));
                all.filter(|(_, name)| temporary || !name.starts_with("pg_temp_")).collect()
            }
        }
    }
}

fn key(schema: &str, name: &str) -> Name {
    (schema.to_string(), name.to_string())
}

impl Catalog for Objects {
    fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        let own = analyzer::facts::Facts::postgresql15().type_row(id);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.types.get(&id)))
    }

    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        self.places(schema, true).into_iter().find_map(|(_, schema)| {
            let own = analyzer::facts::Facts::postgresql15().type_named(name).filter(|_| schema == SYSTEM_SCHEMA);
            own.or_else(|| {
                let key = key(schema, name);
                let id = self.layers().into_iter().find_map(|layer| layer.type_names.get(&key))?;
                self.type_row(*id)
            })
        })
    }

    fn function(&self, id: FunctionId) -> Option<&Function> {
        let own = analyzer::facts::Facts::postgresql15().function(id);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.functions.get(&id)))
    }

    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>> {
        let mut found = Vec::new();
        for (place, schema) in self.places(schema, schema.is_some()) {
            if schema == SYSTEM_SCHEMA {
                let own = analyzer::facts::Facts::postgresql15().functions_named(name);
                found.extend(own.map(|row| Found { place, row }));
            }
            let key = key(schema, name);
            for layer in self.layers() {
                let rows = layer.function_names.get(&key).into_iter().flatten().map(|id| &layer.functions[id]);
                found.extend(rows.map(|row| Found { place, row }));
            }
        }
        found
    }

    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        let own = analyzer::facts::Facts::postgresql15().operator(id);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.operators.get(&id)))
    }

    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>> {
        let mut found = Vec::new();
        for (place, schema) in self.places(schema, schema.is_some()) {
            if schema == SYSTEM_SCHEMA {
                let own = analyzer::facts::Facts::postgresql15().operators_named(name);
                found.extend(own.map(|row| Found { place, row }));
            }
            let key = key(schema, name);
            for layer in self.layers() {
                let rows = layer.operator_names.get(&key).into_iter().flatten().map(|id| &layer.operators[id]);
                found.extend(rows.map(|row| Found { place, row }));
            }
        }
        found
    }

    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        let own = analyzer::facts::Facts::postgresql15().cast(source, target);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.casts.get(&(source, target))))
    }

    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        let own = analyzer::facts::Facts::postgresql15().aggregate(id);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.aggregates.get(&id)))
    }

    fn range(&self, id: TypeId) -> Option<&Range> {
        let own = analyzer::facts::Facts::postgresql15().ranges.iter().find(|range| range.id == id);
        own.or_else(|| self.layers().into_iter().find_map(|layer| layer.ranges.get(&id)))
    }

    fn range_of_multirange(&self, id: TypeId) -> Option<&Range> {
        let own = analyzer::facts::Facts::postgresql15().ranges.iter();
        let all = own.chain(self.layers().into_iter().flat_map(|layer| layer.ranges.values()));
        all.into_iter().find(|range| range.multirange == id)
    }

    fn inherits(&self, child: TypeId, parent: TypeId) -> bool {
        let parents = &self.users.parents;
        let mut seen = BTreeSet::from([child]);
        let mut open = vec![child];
        while let Some(next) = open.pop() {
            for (_, above) in parents.range((next, TypeId(0))..=(next, TypeId(u32::MAX))) {
                if *above == parent {
                    return true;
                }
                if seen.insert(*above) {
                    open.push(*above);
                }
            }
        }
        false
    }

    fn relation(&self, id: RelationId) -> Option<&Relation> {
        self.layers().into_iter().find_map(|layer| layer.relations.get(&id))
    }

    fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        self.places(schema, true).into_iter().find_map(|(_, schema)| {
            let key = key(schema, name);
            let id = self.layers().into_iter().find_map(|layer| layer.relation_names.get(&key))?;
            self.relation(*id)
        })
    }

    fn has_schema(&self, name: &str) -> bool {
        name == "pg_temp" || self.schemas.contains(name)
    }

    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<CollationId> {
        self.places(schema, schema.is_some()).into_iter().find_map(|(_, schema)| {
            let key = key(schema, name);
            self.layers().into_iter().find_map(|layer| layer.collations.get(&key)).copied()
        })
    }

    fn collation_name(&self, id: CollationId) -> Option<String> {
        let mut all = self.layers().into_iter().flat_map(|layer| &layer.collations);
        all.find(|(_, own)| **own == id).map(|((_, name), _)| name.clone())
    }

    fn other_operator_classes(&self) -> &[OperatorClass] {
        &self.users.classes
    }

    fn other_family_operators(&self) -> &[FamilyOperator] {
        &self.users.family_operators
    }

    fn database(&self) -> &str {
        &self.database
    }
}
