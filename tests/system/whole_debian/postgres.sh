# A cluster made, a table filled and asked, the benchmark with four clients; by a user who is not root.
set -e
export PATH=/usr/lib/postgresql/15/bin:$PATH
rm -rf /tmp/cluster /tmp/said
initdb -D /tmp/cluster -A trust > /tmp/said
pg_ctl -D /tmp/cluster -o "-c listen_addresses= -k /tmp" -w -l /tmp/cluster/log start >> /tmp/said
psql -h /tmp postgres -qAt -c "create table numbers as select generate_series(1, 10000) n; select sum(n), count(*) from numbers"
pgbench -h /tmp -i -q postgres >> /tmp/said 2>&1
pgbench -h /tmp -c 4 -j 2 -t 50 postgres 2>> /tmp/said | grep processed
pg_ctl -D /tmp/cluster stop -m fast >> /tmp/said
