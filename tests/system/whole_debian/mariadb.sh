# A data directory made, a table filled, a user with a password over TCP, four clients at once.
set -e
rm -rf /tmp/maria && mkdir -p /run/mysqld && chown mysql:mysql /run/mysqld
mariadb-install-db --user=mysql --datadir=/tmp/maria --skip-test-db --force > /tmp/maria.log 2>&1
mariadbd --user=mysql --datadir=/tmp/maria --bind-address=127.0.0.1 --port=13307 >> /tmp/maria.log 2>&1 &
for turn in $(seq 600); do mariadb-admin ping > /dev/null 2>&1 && break; sleep 0.2; done
mariadb -B -N -e "create database t; use t; create table a (i int primary key auto_increment, s varchar(40));
  insert into a(s) select concat('n', seq) from seq_1_to_5000; select count(*), sum(i) from a;
  create user 'w'@'127.0.0.1' identified by 'p'; grant all on t.* to 'w'@'127.0.0.1'"
mariadb -B -N -h127.0.0.1 -P13307 -uw -pp t -e 'select s from a where i = 77'
mariadb-slap --concurrency=4 --iterations=1 --auto-generate-sql --number-of-queries=100 | grep clients
mariadb-admin shutdown
wait
