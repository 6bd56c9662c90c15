# Asks a cyclictest with two threads how it gets on, by signal; it answers in shared memory.
cyclictest -q -D 90 -t 2 -i 10000 -p 50 > /dev/null 2>&1 &
until get_cyclictest_snapshot -l | grep -q '^[0-9]'; do sleep 0.2; done
get_cyclictest_snapshot -s
until get_cyclictest_snapshot -p | grep -q Avg; do sleep 0.2; done
get_cyclictest_snapshot -p | grep -c 'P:50.*Avg'
kill $!
wait
