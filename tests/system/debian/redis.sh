#!/bin/sh
# The server on a UNIX socket, or with the argument tcp at a port, a few clients, and its own benchmark.
cd /tmp || exit
if [ "$1" = tcp ]; then
  server="--port 6379 --bind 127.0.0.1" client="-h 127.0.0.1 -p 6379"
else
  server="--port 0 --unixsocket /tmp/redis" client="-s /tmp/redis"
fi
redis-server $server --save "" --daemonize yes > /dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  redis-cli $client ping 2> /dev/null && break
  sleep 1
done
redis-cli $client set key value
redis-cli $client get key
redis-benchmark $client -n 500 -c 4 -t set,get -q | tr '\r' '\n' | grep -c "requests per second"
redis-cli $client shutdown nosave
