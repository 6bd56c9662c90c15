# What gdb is asked to do with debugged.c.
set pagination off
set can-use-hw-watchpoints 0
break factorial if n == 2
run
backtrace
print name
finish
delete
watch total
continue
delete
break everybody_waits
continue
info threads
step
break leave
continue
backtrace 2
delete
continue
