//! What is selected from PostgreSQL's catalogs into the files of facts. Each selection is one file, sorted by its first columns.

use super::server::Server;

/// One file of facts.
pub struct Selection {
    /// The file's name without `.tsv`.
    pub file: &'static str,
    /// Names of the columns, in the order in which the crate reads them.
    pub columns: &'static str,
    /// What follows the columns.
    pub rest: &'static str,
}

/// All files of facts. Objects of PostgreSQL's own have an oid below 16384; row types of its views are numbered by `initdb` and stay out.
pub const SELECTIONS: &[Selection] = &[
    Selection {
        file: "types",
        columns: "oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, typrelid, typelem, typarray, \
                  typsubscript::oid <> 0 and typsubscript::text = 'array_subscript_handler', typinput::text, typoutput::text, \
                  typreceive::text, typsend::text, typmodin::text, typmodout::text, typalign, typstorage, typbasetype, typtypmod, \
                  typcollation",
        rest: "from pg_type where typnamespace = 'pg_catalog'::regnamespace and oid < 12000 order by oid",
    },
    Selection {
        file: "functions",
        columns: "p.oid, proname, lanname, procost, prorows, provariadic, prokind, proleakproof, proisstrict, proretset, \
                  provolatile, proparallel, pronargdefaults, prorettype, proargtypes, proallargtypes, proargmodes, proargnames, \
                  pg_get_expr(proargdefaults, 0), prosrc, pg_get_function_sqlbody(p.oid)",
        rest: "from pg_proc p join pg_language l on l.oid = prolang where pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384 \
               order by p.oid",
    },
    Selection {
        file: "operators",
        columns: "oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate, oprcode::oid, \
                  oprrest::text, oprjoin::text",
        rest: "from pg_operator where oprnamespace = 'pg_catalog'::regnamespace and oid < 16384 order by oid",
    },
    Selection {
        file: "casts",
        columns: "castsource, casttarget, castfunc, castcontext, castmethod",
        rest: "from pg_cast where oid < 16384 order by castsource, casttarget",
    },
    Selection {
        file: "aggregates",
        columns: "aggfnoid::oid, aggkind, aggnumdirectargs, aggtransfn::oid, aggfinalfn::oid, aggfinalextra, aggsortop, aggtranstype, \
                  agginitval",
        rest: "from pg_aggregate where aggfnoid < 16384 order by aggfnoid::oid",
    },
    Selection {
        file: "ranges",
        columns: "rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::text, rngsubdiff::text",
        rest: "from pg_range where rngtypid < 16384 order by rngtypid",
    },
    Selection {
        file: "operator_classes",
        columns: "c.oid, amname, opcname, opcfamily, opcintype, opcdefault, opckeytype",
        rest: "from pg_opclass c join pg_am a on a.oid = opcmethod where c.oid < 16384 order by c.oid",
    },
    Selection {
        file: "operator_families",
        columns: "f.oid, amname, opfname",
        rest: "from pg_opfamily f join pg_am a on a.oid = opfmethod where f.oid < 16384 order by f.oid",
    },
    Selection {
        file: "family_operators",
        columns: "amopfamily, amoplefttype, amoprighttype, amopstrategy, amoppurpose, amopopr, amopsortfamily",
        rest: "from pg_amop where oid < 16384 order by amopfamily, amoplefttype, amoprighttype, amopstrategy, amopopr",
    },
    Selection {
        file: "family_functions",
        columns: "amprocfamily, amproclefttype, amprocrighttype, amprocnum, amproc::oid",
        rest: "from pg_amproc where oid < 16384 order by amprocfamily, amproclefttype, amprocrighttype, amprocnum",
    },
    Selection {
        file: "keywords",
        columns: "word, catcode, barelabel",
        rest: "from pg_get_keywords() order by word collate \"C\"",
    },
];

impl Selection {
    /// The file's text, from a running server.
    pub fn text(&self, server: &mut Server) -> Result<String, Box<dyn std::error::Error>> {
        let rows = server.copy(&format!("copy (select {} {}) to stdout", self.columns, self.rest))?;
        let columns = self.columns.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(format!(
            "# Selected from PostgreSQL 15 by the example `facts` of this crate, in the text format of COPY; licence: LICENSE.postgresql.\n\
             # {columns}\n{rows}"
        ))
    }
}
