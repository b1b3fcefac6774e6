-- pgbench's TPC-B-like transaction for sysbench, the same for MariaDB and for what speaks PostgreSQL: five prepared statements
-- between BEGIN and COMMIT, on pgbench's tables. A transaction that loses a conflict is rolled back, counted as an ignored error
-- by sysbench, and tried again as a new one.

sysbench.cmdline.options = {
   scale = {"Scale of the tables: 100,000 accounts, 10 tellers and 1 branch each", 10}
}

local statements = {
   {"UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?", {"delta", "aid"}},
   {"SELECT abalance FROM pgbench_accounts WHERE aid = ?", {"aid"}},
   {"UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?", {"delta", "tid"}},
   {"UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?", {"delta", "bid"}},
   {"INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)",
    {"tid", "bid", "aid", "delta"}},
}

function thread_init()
   connection = sysbench.sql.driver():connect()
   begin = connection:prepare("BEGIN")
   commit = connection:prepare("COMMIT")
   prepared = {}
   for index, statement in ipairs(statements) do
      local parameters = {}
      local handle = connection:prepare(statement[1])
      for position in ipairs(statement[2]) do
         parameters[position] = handle:bind_create(sysbench.sql.type.INT)
      end
      handle:bind_param(unpack(parameters))
      prepared[index] = {handle = handle, parameters = parameters, names = statement[2]}
   end
end

function event()
   local scale = sysbench.opt.scale
   local values = {
      aid = sysbench.rand.uniform(1, 100000 * scale),
      tid = sysbench.rand.uniform(1, 10 * scale),
      bid = sysbench.rand.uniform(1, scale),
      delta = sysbench.rand.uniform(0, 10000) - 5000,
   }
   begin:execute()
   for _, statement in ipairs(prepared) do
      for position, name in ipairs(statement.names) do
         statement.parameters[position]:set(values[name])
      end
      -- The next statement of a connection frees what this one returned.
      statement.handle:execute()
   end
   commit:execute()
end

-- After some conflicts MariaDB has undone one statement only, and the next BEGIN would commit the others.
function sysbench.hooks.before_restart_event(_)
   connection:query("ROLLBACK")
end

function thread_done()
   connection:disconnect()
end
