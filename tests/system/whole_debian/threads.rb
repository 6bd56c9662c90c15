# Threads and a queue, a forked child, ractors, a signal, a pair of sockets, a time limit.
require "socket"
require "timeout"

queue = Queue.new
4.times.map { |i| Thread.new { 1000.times { |k| queue << k * i } } }.each(&:join)
sum = 0
sum += queue.pop until queue.empty?
puts sum

reader, writer = IO.pipe
child = fork { reader.close; writer.puts "child"; exit!(3) }
writer.close
puts reader.read
Process.wait child
puts $?.exitstatus

$VERBOSE = nil
puts 3.times.map { |i| Ractor.new(i) { |x| (1..20000).sum * x } }.map(&:take).sum

done = Queue.new
trap("USR1") { Thread.new { done << "signal" } }
Process.kill("USR1", $$)
puts done.pop

a, b = UNIXSocket.pair
a.puts "socket"
puts b.gets
begin
  Timeout.timeout(0.1) { sleep 50 }
rescue Timeout::Error
  puts "timeout"
end
