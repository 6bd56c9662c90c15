<?php
// A child between two pipes, a locked file, a pair of sockets.
$child = proc_open(['/bin/cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], "through cat");
fclose($pipes[0]);
echo stream_get_contents($pipes[1]), "\n", proc_close($child), "\n";
$file = tempnam('/tmp', 'php');
file_put_contents($file, str_repeat('a', 100000), LOCK_EX);
echo md5_file($file), "\n", array_sum(range(1, 100000)), "\n";
$pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
fwrite($pair[0], "socket\n");
echo fgets($pair[1]);
