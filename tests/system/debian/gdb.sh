# gdb's words on a program that is compiled here, on what it leaves when it fails, and on one that runs already, as far as they are the same each time.
cd /tmp && gcc -g -pthread -o debugged /host/debugged.c
gdb -nx -batch -x /host/session.gdb debugged 2>&1 | sed -nE '
  s/ at .*//
  s/0x[0-9a-f]+ in //
  s/0x[0-9a-f]+/address/
  s/^[* ] ([1-3]) +Thread .*/thread \1/p
  s/^\[.*(exited with.*)\]/\1/p
  /^(#|\$|Value|New value|main|warning|debugged:)/p'
rm -f core
(ulimit -c unlimited; ./debugged wrongly; echo $?) 2> /dev/null
gdb -nx -batch -ex 'backtrace 2' -ex 'print total' -ex 'info threads' debugged core 2> /dev/null | sed -nE '
  1,/^#0/d
  s/ at .*//
  s/0x[0-9a-f]+ in //
  s/0x[0-9a-f]+/address/
  s/^[* ] ([1-3]) +Thread .*/thread \1/p
  /^(#|\$)/p'
sleep 1000 &
gdb -nx -batch -p $! -ex 'print $pc != 0' -ex detach 2> /dev/null | grep -cE '^\$1 = 1|detached'
kill $!
