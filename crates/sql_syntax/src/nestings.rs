//! Statements that nest one construct, or make a chain of it, as often as is wanted: for the tests of whoever parses, plans or executes.
//!
//! They are over a table `n (id integer primary key, v integer, t text)`.

/// A name, and the statement that has the construct so many times.
pub type Nesting = (&'static str, fn(usize) -> String);

fn nested(before: &str, inside: &str, after: &str, times: usize) -> String {
    format!("select {}{inside}{}", before.repeat(times), after.repeat(times))
}

fn chain(first: &str, link: &str, times: usize) -> String {
    format!("select {first}{}", link.repeat(times))
}

fn filtered(first: &str, link: &str, times: usize) -> String {
    format!("select id from n where {first}{}", link.repeat(times))
}

fn list(times: usize, item: impl Fn(usize) -> String, between: &str) -> String {
    (0..times).map(item).collect::<Vec<_>>().join(between)
}

/// Constructs within each other.
pub const NESTED: &[Nesting] = &[
    ("parentheses", |times| nested("(", "1", ")", times)),
    ("sums in parentheses", |times| nested("(1+", "1", ")", times)),
    ("sums in parentheses, left", |times| nested("(", "1", "+1)", times)),
    ("CAST", |times| nested("cast(", "1", " as int)", times)),
    ("functions", |times| nested("abs(", "1", ")", times)),
    ("functions of columns", |times| format!("{} from n", nested("abs(", "v", ")", times))),
    ("functions of joined columns", |times| {
        format!("{} from n a join n b using (id)", nested("abs(", "a.v", ")", times))
    }),
    ("functions of two arguments", |times| nested("coalesce(null, ", "1", ")", times)),
    ("POSITION", |times| nested("position('a' in ", "'b'", ")::text", times)),
    ("TRIM", |times| nested("trim(", "'a'", ")", times)),
    ("AND within OR", |times| {
        format!("select id from n where {}v=1{}", "(v<>3 and (v=2 or ".repeat(times / 2), "))".repeat(times / 2))
    }),
    ("CASE", |times| nested("case when true then ", "1", " else 0 end", times)),
    ("CASE in its operand", |times| nested("case ", "1", " when 1 then 1 end", times)),
    ("NOT", |times| nested("not ", "true", "", times)),
    ("NOT in parentheses", |times| nested("not (", "true", ")", times)),
    ("signs", |times| nested("- ", "1", "", times)),
    ("scalar subqueries", |times| nested("(select ", "1", ")", times)),
    ("scalar subqueries of a table", |times| nested("(select max(id) + ", "1", " from n)", times)),
    ("derived tables", |times| format!("{}select 1 as x{}", "select x from (".repeat(times), ") as d".repeat(times))),
    ("EXISTS", |times| {
        format!("select id from n where {}true{}", "exists (select 1 from n where ".repeat(times), ")".repeat(times))
    }),
    ("correlated EXISTS", |times| {
        let open: String = (0..times)
            .map(|level| format!("exists (select 1 from n n{} where n{}.id = n{level}.id and ", level + 1, level + 1))
            .collect();
        format!("select id from n n0 where {open}true{}", ")".repeat(times))
    }),
    ("IN over queries", |times| {
        format!("select id from n where {}1=1{}", "id in (select id from n where ".repeat(times), ")".repeat(times))
    }),
    ("IN within lists", |times| nested("1 in (1, ", "1", ")::int", times)),
    ("set operations in parentheses", |times| {
        format!("{}select 1{}", "(select 1 union ".repeat(times), ")".repeat(times))
    }),
    ("set operations in parentheses, left", |times| {
        format!("{}select 1{}", "(".repeat(times), " except select 2)".repeat(times))
    }),
    ("WITH within WITH", |times| {
        format!("{}select 1 as x{}", "with w as (".repeat(times), ") select x from w".repeat(times))
    }),
    ("joins in parentheses", |times| {
        format!("select 1 from {}n{}", "(n cross join ".repeat(times), ")".repeat(times)).replace(" n)", " n as q)")
    }),
    ("joins in parentheses around derived tables", |times| {
        format!("select 1 from {}n{}", "((select 1) as d cross join ".repeat(times), ")".repeat(times))
    }),
    ("arrays", |times| nested("array[", "1", "]", times)),
    ("rows", |times| nested("row(1, ", "1", ")", times)),
    ("tuples", |times| nested("(1, ", "1", ")", times)),
    ("BETWEEN", |times| nested("1 between 0 and (", "1", ")::int", times)),
    ("EXPLAIN", |times| format!("{}select 1", "explain ".repeat(times))),
    ("procedures within procedures", |times| {
        let open: String = (0..times).map(|at| format!("create procedure p() language sql as $a{at}$ ")).collect();
        let close: String = (0..times).rev().map(|at| format!(" $a{at}$")).collect();
        format!("{open}select 1{close}")
    }),
    ("INTERVAL", |times| nested("interval (", "'1'", ")", times)),
    ("lateral queries", |times| {
        format!("select 1 from n{}{}", ", lateral (select 1 from n".repeat(times), ") as d".repeat(times))
    }),
];

/// Long statements over the table `n` that change or lock rows, or have what is read as something else before they are parsed.
pub const CHANGES: &[Nesting] = &[
    ("WITH that changes rows", |times| {
        let links = |at| format!(", w{at} as (update n set v=v where id in (select id from w{}) returning id)", at - 1);
        let links: String = (1..times).map(links).collect();
        format!(
            "with w0 as (update n set v=v where id=0 returning id){links} select count(*) from w{}",
            times.max(1) - 1
        )
    }),
    ("WITH that changes rows beside each other", |times| {
        let items = list(times, |at| format!("w{at} as (delete from n where id={} returning id)", at + 100), ", ");
        format!("with {items} select 1")
    }),
    ("WHEN of a MERGE", |times| {
        let whens = list(times, |at| format!("when matched and s.k={at} then update set v={at}"), " ");
        format!("merge into n using (select 0 as k) s on n.id=s.k {whens}")
    }),
    ("DO NOTHING of a MERGE", |times| {
        let whens = list(times, |at| format!("when matched and s.k={at} then do nothing"), " ");
        format!("merge into n using (select 0 as k) s on n.id=s.k {whens}")
    }),
    ("locks", |times| format!("select {}", list(times, |_| "(select id from n for no key update)".to_owned(), ", "))),
    ("locks of tables", |times| format!("select id from n for update of {}", list(times, |_| "n".to_owned(), ", "))),
    ("TABLE", |times| format!("select {}", list(times, |_| "(table one)".to_owned(), ", "))),
    ("the word TABLE", |times| format!("insert into n {}", "table ".repeat(times))),
];

/// Chains: as long as they are, they need not be deep.
pub const CHAINS: &[Nesting] = &[
    ("AND", |times| filtered("v<>0", " and v<>1", times)),
    ("OR", |times| filtered("v=0", " or v=1", times)),
    ("AND in a join", |times| {
        format!(
            "select a.id from n a join n b using (id) where {}",
            list(times + 1, |at| format!("a.v<>{at}"), " and ")
        )
    }),
    ("OR in a join", |times| {
        format!("select a.id from n a join n b using (id) where {}", list(times + 1, |at| format!("a.v={at}"), " or "))
    }),
    ("OR of two columns", |times| {
        format!(
            "select a.id from n a join n b using (id) where {}",
            list(times + 1, |at| format!("a.v=b.id+{at}"), " or ")
        )
    }),
    ("sums", |times| chain("1", "+1", times)),
    ("sums in a join", |times| format!("{} from n a join n b using (id)", chain("a.v", "+a.v", times))),
    ("texts", |times| chain("'a'", "||'b'", times)),
    ("texts in a join", |times| format!("{} from n a join n b using (id)", chain("a.t", "||a.t", times))),
    ("casts", |times| chain("1", "::int", times)),
    ("casts in a join", |times| format!("{} from n a join n b using (id)", chain("a.v", "::int", times))),
    ("IS NULL", |times| chain("1", " is null", times)),
    ("AT TIME ZONE", |times| chain("now()", " at time zone 'UTC'", times)),
    ("subscripts", |times| chain("(array[1])", "[1]", times)),
    ("dimensions", |times| chain("null::int", "[]", times)),
    ("comparisons", |times| chain("(true)", "=true", times)),
    ("WHEN", |times| {
        let whens = list(times, |at| format!("when a.v={at} then {at}"), " ");
        format!("select case {whens} else 0 end from n a join n b using (id)")
    }),
    ("arguments", |times| format!("select coalesce(null{}) from n a join n b using (id)", ", a.t".repeat(times + 1))),
    ("UNION ALL", |times| format!("select 1{}", " union all select 1".repeat(times))),
    ("UNION", |times| format!("select 1{}", " union select 2".repeat(times))),
    ("EXCEPT", |times| format!("select 1{}", " except select 2".repeat(times))),
    ("INTERSECT", |times| format!("select 1{}", " intersect select 1".repeat(times))),
    ("UNION ALL of tables", |times| list(times + 1, |at| format!("select id from n where id={at}"), " union all ")),
    ("set operations of several kinds", |times| {
        format!("select 1{}", " union select 2 except select 3".repeat(times / 2))
    }),
    ("WITH", |times| {
        let links: String = (1..times).map(|at| format!(", w{at} as (select x+1 as x from w{})", at - 1)).collect();
        format!("with w0 as (select 1 as x){links} select x from w{}", times.max(1) - 1)
    }),
    ("WITH that doubles", |times| {
        let links = |at| format!(", w{at} as (select a.x from w{} a join w{} b on a.x=b.x)", at - 1, at - 1);
        let links: String = (1..times).map(links).collect();
        format!("with w0 as (select 1 as x){links} select count(*) from w{}", times.max(1) - 1)
    }),
    ("joins", |times| {
        let joins = list(times, |at| format!("join n n{} on n{}.id=n0.id", at + 1, at + 1), " ");
        format!("select count(*) from n n0 {joins}")
    }),
    ("left joins", |times| {
        let joins = list(times, |at| format!("left join n n{} on n{}.id=n{at}.id", at + 1, at + 1), " ");
        format!("select count(*) from n n0 {joins}")
    }),
    ("cross joins", |times| format!("select count(*) from n n0{}", list(times, |at| format!(", n m{at}"), ""))),
    ("EXISTS beside each other", |times| {
        let exists = |at| format!("exists (select 1 from n b where b.id=a.id and b.v<>{})", at + 9);
        format!("select id from n a where {}", list(times + 1, exists, " and "))
    }),
    ("scalar subqueries beside each other", |times| {
        format!("select {}", list(times + 1, |at| format!("(select max(v) from n where id={at})"), ", "))
    }),
    ("IN over a list", |times| format!("select id from n where v in ({})", list(times + 1, |at| at.to_string(), ","))),
    ("IN over a list in a join", |times| {
        let values = list(times + 1, |at| at.to_string(), ",");
        format!("select a.id from n a join n b using (id) where a.v in ({values})")
    }),
    ("rows of VALUES", |times| {
        format!("select count(*) from (values {}) d(x)", list(times + 1, |at| format!("({at})"), ","))
    }),
    ("elements", |times| format!("select array[{}]", list(times + 1, |at| at.to_string(), ","))),
    ("columns", |times| format!("select {} from n", list(times + 1, |at| format!("v+{at}"), ","))),
    ("aggregates", |times| {
        format!("select {} from n a join n b using (id)", list(times + 1, |at| format!("sum(a.v+{at})"), ","))
    }),
    ("windows", |times| {
        let window = |at| format!("sum(v) over (order by id rows {at} preceding)");
        format!("select {} from n", list(times + 1, window, ","))
    }),
    ("GROUP BY", |times| {
        let keys = list(times + 1, |at| format!("a.v+{at}"), ",");
        format!("select count(*) from n a join n b using (id) group by {keys}")
    }),
    ("ORDER BY", |times| {
        let keys = list(times + 1, |at| format!("a.v+{at}"), ",");
        format!("select a.id from n a join n b using (id) order by {keys}")
    }),
];
