CREATE PROCEDURE debit_credit(aid_ int, tid_ int, bid_ int, delta_ int) LANGUAGE SQL AS $$
    UPDATE pgbench_accounts SET abalance = abalance + delta_ WHERE aid = aid_;
    UPDATE pgbench_tellers SET tbalance = tbalance + delta_ WHERE tid = tid_;
    UPDATE pgbench_branches SET bbalance = bbalance + delta_ WHERE bid = bid_;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (tid_, bid_, aid_, delta_, CURRENT_TIMESTAMP)
$$
