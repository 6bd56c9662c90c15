#!/bin/sh
# The server on a UNIX socket, a few clients, and its own benchmark.
cd /tmp || exit
redis-server --port 0 --unixsocket /tmp/redis --save "" --daemonize yes > /dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  redis-cli -s /tmp/redis ping 2> /dev/null && break
  sleep 1
done
redis-cli -s /tmp/redis set key value
redis-cli -s /tmp/redis get key
redis-benchmark -s /tmp/redis -n 500 -c 4 -t set,get -q | tr '\r' '\n' | grep -c "requests per second"
redis-cli -s /tmp/redis shutdown nosave
