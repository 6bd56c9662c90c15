# A value kept and given back.
memcached -u nobody -p 21211 -l 127.0.0.1 &
while ! nc -z 127.0.0.1 21211; do sleep 0.1; done
printf 'set a 0 0 3\r\nxyz\r\nget a\r\nquit\r\n' | nc -N 127.0.0.1 21211 | tr -d '\r'
kill %1
wait
