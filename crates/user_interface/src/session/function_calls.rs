//! Functions in PL/pgSQL that queries call: the query waits, and the function runs as a routine of the session.
//!
//! Invariant: each query that waits has one function under way that it waits for.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::KNOWN_FUNCTIONS_MAX;
use crate::session::queries::cancelled;
use crate::session::routine_runs::{KnownFunction, RoutineCaller, RunningMachine};
use crate::session::state::{Execution, Work};
use crate::session::turn::Turn;
use crate::sql::lookup::NameLookup;
use crate::sql::routines::{self, SessionNames};
use messages::Timestamp;
use messages::schema::{ProcedureSchema, RoutineVolatility};
use plpgsql::triggers::TriggerCall;
use plpgsql::{EffectOutcome, RoutineMachine};
use std::sync::Arc;
use values::Value;

impl Turn<'_> {
    /// The query of a statement waits for a function.
    pub(super) fn function_called(&mut self, execution: Box<Execution>, function: u32, arguments: Vec<Value>) {
        let begun = match self.session.cancelled {
            Some(reason) => Err(cancelled(reason)),
            None => self.function_begins(function, arguments),
        };
        match begun {
            Ok((known, machine)) => {
                let machine = RunningMachine::Routine(machine);
                let run = self.push_run(execution, RoutineCaller::Query, Some(known.call), Some(machine));
                run.only_reads = known.only_reads;
                self.routine_goes_on(EffectOutcome::Done);
            }
            Err(error) => {
                self.session.work = Work::Statement(execution);
                self.fail(&error);
            }
        }
    }

    /// Errors: 54001 for too many within each other, 42883 for one that is gone, those of its variables' types.
    fn function_begins(&mut self, function: u32, arguments: Vec<Value>) -> Result<(KnownFunction, RoutineMachine)> {
        self.check_depth()?;
        let known = self.known_function(function)?;
        let mut arguments = arguments.into_iter();
        let given = known.parameters.iter().map(|(goes_in, known)| {
            let value = if *goes_in { arguments.next() } else { None };
            (value.unwrap_or(Value::Null), *known)
        });
        let (given, call) = (given.collect(), Arc::clone(&known.call));
        let catalog = self.catalog();
        let made = self.with_facts(|facts| {
            let names = SessionNames { lookup: NameLookup::new(&catalog, facts), zone: facts.settings.zone() };
            RoutineMachine::new(Arc::clone(&call.program), call.name.clone(), given, call.outputs.clone(), &names)
        });
        Ok((known, made.map_err(|error| SqlError::from_routine(*error))?))
    }

    /// The function of a trigger, which begins; and whether it may change nothing.
    pub(super) fn trigger_machine(&mut self, function: &str, call: TriggerCall) -> Result<(RoutineMachine, bool)> {
        let catalog = self.catalog();
        let Some((schema, _)) = catalog.procedures.get(function) else {
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {function}() does not exist")));
        };
        let program = Arc::new(routines::program_of(schema, "")?);
        let name = routines::signature(schema);
        let made = self.with_facts(|facts| {
            let names = SessionNames { lookup: NameLookup::new(&catalog, facts), zone: facts.settings.zone() };
            RoutineMachine::of_trigger(program, name, call, &names)
        });
        Ok((made.map_err(|error| SqlError::from_routine(*error))?, only_reads(schema)))
    }

    /// A function as the catalog has it now.
    fn known_function(&mut self, function: u32) -> Result<KnownFunction> {
        let catalog = self.catalog();
        let place = self.session.routines.known.iter().position(|known| known.oid == function);
        if let Some(known) = place.map(|place| &self.session.routines.known[place]) {
            let row = catalog.procedures.get(&known.name);
            if row.is_some_and(|(schema, version)| schema.oid == function && *version == known.version) {
                return Ok(known.clone());
            }
        }
        let Some((schema, version)) = catalog.procedures.values().find(|(schema, _)| schema.oid == function) else {
            let message = format!("function with OID {function} does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, message));
        };
        let parameters = schema.all_parameters().into_iter();
        let known = KnownFunction {
            oid: function,
            name: schema.name.clone(),
            version: *version,
            call: Arc::new(routines::of_function(schema)?),
            only_reads: only_reads(schema),
            parameters: parameters.map(|(mode, (_, of))| (matches!(mode, 'i' | 'b'), of.unmodified())).collect(),
        };
        // What the transaction itself has made has no version to be known by.
        if *version != Timestamp::ZERO {
            let all = &mut self.session.routines.known;
            all.retain(|other| other.oid != function);
            if all.len() >= KNOWN_FUNCTIONS_MAX {
                all.remove(0);
            }
            all.push(known.clone());
        }
        Ok(known)
    }
}

fn only_reads(schema: &ProcedureSchema) -> bool {
    schema.function.as_ref().is_some_and(|of| of.volatility != RoutineVolatility::Volatile)
}
