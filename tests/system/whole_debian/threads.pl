# Threads and a queue, a child behind a pipe, an alarm, shared memory, a walk through a directory.
use threads;
use Thread::Queue;
use IPC::SysV qw(IPC_PRIVATE S_IRUSR S_IWUSR IPC_CREAT IPC_RMID);
use File::Find;

my $queue = Thread::Queue->new;
my @threads = map { my $i = $_; threads->create(sub { $queue->enqueue($i * $_) for 1 .. 200; 1 }) } 1 .. 4;
$_->join for @threads;
$queue->end;
my $sum = 0;
while (defined(my $item = $queue->dequeue)) { $sum += $item }
print "$sum\n";

$| = 1;
my $child = open(my $pipe, "-|");
if (!$child) { print "child\n"; exit 0 }
print <$pipe>;
close $pipe;

$SIG{ALRM} = sub { print "alarm\n" };
alarm 1;
select(undef, undef, undef, 30);

my $segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | S_IRUSR | S_IWUSR);
shmwrite($segment, "shared", 0, 6);
my $bytes;
shmread($segment, $bytes, 0, 6);
print "$bytes\n";
shmctl($segment, IPC_RMID, 0);

my $found = 0;
find(sub { $found++ }, "/etc");
print $found > 50 ? "many\n" : "few\n";
