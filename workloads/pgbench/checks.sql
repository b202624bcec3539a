-- rows: ten tellers and 100,000 accounts for each branch, with the numbers from 1 on
SELECT *
  FROM (SELECT count(*) AS branches, max(bid) AS last_bid FROM pgbench_branches) b,
       (SELECT count(*) AS tellers, max(tid) AS last_tid FROM pgbench_tellers) t,
       (SELECT count(*) AS accounts, min(aid) AS first_aid, max(aid) AS last_aid FROM pgbench_accounts) a
 WHERE (last_bid, tellers, last_tid, accounts, first_aid, last_aid)
       IS DISTINCT FROM (branches, branches * 10, branches * 10, branches * 100000, 1, branches * 100000);
-- branches-tellers: the balances of all branches and of all tellers have the same sum
SELECT *
  FROM (SELECT sum(bbalance) AS branches FROM pgbench_branches) b, (SELECT sum(tbalance) AS tellers FROM pgbench_tellers) t
 WHERE branches IS DISTINCT FROM tellers;
-- accounts-branches (after load only): the balances of all accounts and of all branches have the same sum, unless simple-update has run, which changes accounts alone
SELECT *
  FROM (SELECT sum(abalance) AS accounts FROM pgbench_accounts) a, (SELECT sum(bbalance) AS branches FROM pgbench_branches) b
 WHERE accounts IS DISTINCT FROM branches;
-- accounts-history (after load only): the balances of all accounts are the sum of history's changes, unless a run with vacuum has emptied history since accounts changed
SELECT *
  FROM (SELECT sum(abalance) AS accounts FROM pgbench_accounts) a, (SELECT coalesce(sum(delta), 0) AS history FROM pgbench_history) h
 WHERE accounts IS DISTINCT FROM history;
