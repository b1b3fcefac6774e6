//! Measures what a query costs in the executor and in DataFusion, in turns within one process:
//! `cargo bench -p query --bench engines -- [--rounds N] [--only WORD]`.
//!
//! Each statement is asked for as a session asks: its plan is kept, it gets other parameters each time, and its rows come in
//! batches. Tables are in memory, so what is not in it are the action driver, the network and the client.
//!
//! Ratios mean something as `cargo bench` builds it: the profile of tests does not optimise DataFusion, nor this crate.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod tables;

use futures::StreamExt;
use query::{Engine, Execution, Processor, QueryError, SessionFacts, Tables};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tables::{CUSTOMERS, LoadedTables, ORDERS, SBTEST_ROWS};
use values::Value;

/// The allocator of `raid`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds, unless the command line says otherwise: the median of them counts.
const ROUNDS: usize = 9;
/// How long a statement is run in one round.
const ROUND_TIME: Duration = Duration::from_millis(120);

/// A statement and where its parameters come from.
struct Load {
    name: &'static str,
    sql: &'static str,
    parameters: fn(i32) -> Vec<Value>,
}

fn customer(number: i32) -> Vec<Value> {
    vec![Value::Integer(number.rem_euclid(CUSTOMERS))]
}

fn order(number: i32) -> Vec<Value> {
    vec![Value::Integer(number.rem_euclid(ORDERS))]
}

fn row(number: i32) -> Vec<Value> {
    vec![Value::Integer(number.rem_euclid(SBTEST_ROWS))]
}

fn hundred(number: i32) -> Vec<Value> {
    let first = number.rem_euclid(SBTEST_ROWS - 100);
    vec![Value::Integer(first), Value::Integer(first + 99)]
}

fn nothing(_: i32) -> Vec<Value> {
    Vec::new()
}

const LOADS: &[Load] = &[
    Load { name: "point select", sql: "SELECT c FROM sbtest WHERE id = $1", parameters: row },
    Load { name: "range of 100", sql: "SELECT c FROM sbtest WHERE id BETWEEN $1 AND $2", parameters: hundred },
    Load { name: "sum of 100", sql: "SELECT sum(k) FROM sbtest WHERE id BETWEEN $1 AND $2", parameters: hundred },
    Load {
        name: "order of 100",
        sql: "SELECT c FROM sbtest WHERE id BETWEEN $1 AND $2 ORDER BY c",
        parameters: hundred,
    },
    Load {
        name: "distinct of 100",
        sql: "SELECT DISTINCT c FROM sbtest WHERE id BETWEEN $1 AND $2 ORDER BY c",
        parameters: hundred,
    },
    Load {
        name: "join by keys",
        sql: "SELECT c.name, o.id, l.amount FROM customer c JOIN orders o ON o.customer = c.id \
              JOIN line l ON l.order_id = o.id WHERE c.id = $1",
        parameters: customer,
    },
    Load {
        name: "an order's lines",
        sql: "SELECT c.name, sum(l.amount) FROM orders o JOIN customer c ON c.id = o.customer \
              JOIN line l ON l.order_id = o.id WHERE o.id = $1 GROUP BY c.name",
        parameters: order,
    },
    Load {
        name: "aggregate of 50",
        sql: "SELECT count(*), sum(v), avg(v), min(name), max(name) FROM few",
        parameters: nothing,
    },
    Load { name: "groups of 50", sql: "SELECT v % 7, count(*), sum(v) FROM few GROUP BY v % 7", parameters: nothing },
    Load {
        name: "first of an index",
        sql: "SELECT id, k FROM sbtest WHERE k > $1 ORDER BY k LIMIT 10",
        parameters: row,
    },
    Load {
        name: "optional filter",
        sql: "SELECT id FROM orders WHERE ($1::int IS NULL OR id = $1)",
        parameters: order,
    },
    Load { name: "count of all", sql: "SELECT count(*) FROM line", parameters: nothing },
    Load {
        name: "groups of all",
        sql: "SELECT item, count(*), sum(amount) FROM line GROUP BY item",
        parameters: nothing,
    },
    Load {
        name: "filter of all",
        sql: "SELECT count(*) FROM orders WHERE total > 500.00 AND at < date '2024-06-01'",
        parameters: nothing,
    },
    Load {
        name: "join of all",
        sql: "SELECT c.region, sum(l.amount) FROM customer c JOIN orders o ON o.customer = c.id \
              JOIN line l ON l.order_id = o.id GROUP BY c.region",
        parameters: nothing,
    },
    Load { name: "sort of all", sql: "SELECT id FROM orders ORDER BY total DESC, id", parameters: nothing },
    Load { name: "first of all", sql: "SELECT id FROM orders ORDER BY total DESC LIMIT 10", parameters: nothing },
    Load {
        name: "exists",
        sql: "SELECT count(*) FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.total > 900)",
        parameters: nothing,
    },
    Load {
        name: "exists, no index",
        sql: "SELECT count(*) FROM few f WHERE NOT EXISTS (SELECT 1 FROM line l WHERE l.item = f.v)",
        parameters: nothing,
    },
    Load {
        name: "in",
        sql: "SELECT count(*) FROM orders WHERE customer IN (SELECT id FROM customer WHERE region = 3)",
        parameters: nothing,
    },
    Load {
        name: "scalar subquery",
        sql: "SELECT c.id, (SELECT sum(o.total) FROM orders o WHERE o.customer = c.id) FROM customer c WHERE region = 3",
        parameters: nothing,
    },
    Load {
        name: "window",
        sql: "SELECT id, sum(total) OVER (PARTITION BY customer ORDER BY id) FROM orders",
        parameters: nothing,
    },
];

/// A program that runs statements by one engine.
struct Runner {
    processor: Processor,
    runtime: tokio::runtime::Runtime,
    tables: Arc<LoadedTables>,
    session: Arc<SessionFacts>,
}

impl Runner {
    fn new(engine: Engine, tables: &Arc<LoadedTables>) -> Result<Runner, Box<dyn Error>> {
        Ok(Runner {
            processor: Processor::new()?.with_engine(engine),
            runtime: tokio::runtime::Builder::new_current_thread().build()?,
            tables: Arc::clone(tables),
            session: Arc::new(SessionFacts { user: "postgres".to_owned(), ..SessionFacts::default() }),
        })
    }

    /// Runs a statement; how many rows it has.
    fn run(&self, sql: &Arc<str>, parameters: Vec<Value>) -> Result<usize, QueryError> {
        let prepared = self.processor.plan(&self.tables.catalog, &self.session, sql, &[])?;
        let execution = Execution { parameters, seed: 7, backend_pid: 1, ..Execution::default() };
        let tables: Arc<dyn Tables> = Arc::clone(&self.tables) as Arc<dyn Tables>;
        self.runtime.block_on(async {
            let mut batches = self.processor.execute(&prepared, &execution, tables).await?;
            let mut rows = 0;
            while let Some(batch) = batches.next().await {
                rows += batch?.len();
            }
            Ok(rows)
        })
    }

    /// Microseconds of one execution, in one round.
    fn round(&self, load: &Load, number: &mut i32) -> Result<f64, QueryError> {
        let sql = Arc::from(load.sql);
        let begin = Instant::now();
        let mut runs = 0;
        while runs == 0 || begin.elapsed() < ROUND_TIME {
            // A stride that meets all rows, none of them twice in a row.
            *number = number.wrapping_add(7_919);
            self.run(&sql, (load.parameters)(*number))?;
            runs += 1;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(runs))
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut rounds, mut only) = (ROUNDS, String::new());
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match name.as_str() {
            "--rounds" => rounds = value.parse::<usize>()?.max(1),
            "--only" => only = value,
            _ => return Err(format!("{name} is not an option; there are --rounds and --only").into()),
        }
    }
    let cores = std::thread::available_parallelism()?;
    let profile = if cfg!(debug_assertions) { "with debug assertions" } else { "without debug assertions" };
    println!("{cores} cores, built {profile}, medians of {rounds} rounds, microseconds of one statement");
    let tables = Arc::new(LoadedTables::new());
    let executor = Runner::new(Engine::Both, &tables)?;
    let datafusion = Runner::new(Engine::DataFusion, &tables)?;
    println!("{:20} {:>12} {:>12} {:>8}", "", "executor", "DataFusion", "ratio");
    for load in LOADS.iter().filter(|load| load.name.contains(&only)) {
        let (sql, parameters) = (Arc::from(load.sql), (load.parameters)(11));
        let found = (executor.run(&sql, parameters.clone())?, datafusion.run(&sql, parameters)?);
        assert_eq!(found.0, found.1, "{}: both have as many rows", load.name);
        let by = executor.processor.plan(&tables.catalog, &executor.session, &sql, &[])?.engine();
        let (mut own, mut other) = (Vec::new(), Vec::new());
        let (mut of_own, mut of_other) = (0, 0);
        for _ in 0..rounds {
            own.push(executor.round(load, &mut of_own)?);
            other.push(datafusion.round(load, &mut of_other)?);
        }
        let (own, other) = (median(own), median(other));
        let note = if by == Engine::Executor { "" } else { "  (not built: DataFusion twice)" };
        println!("{:20} {own:12.1} {other:12.1} {:8.2}{note}", load.name, own / other);
    }
    Ok(())
}
