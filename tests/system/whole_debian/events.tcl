# A child, a pipeline in both directions, a timer in the event loop.
puts [exec echo child]
set sorted [open "|sort" r+]
puts $sorted "b\na"
close $sorted write
puts -nonewline [read $sorted]
close $sorted
after 50 {set over 1}
vwait over
puts timer
