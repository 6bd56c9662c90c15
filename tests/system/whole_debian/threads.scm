; Threads over a list, a child behind a pipe.
(use-modules (ice-9 threads) (ice-9 popen) (ice-9 rdelim))
(display (apply + (par-map (lambda (x) (* x x)) (iota 1000))))
(newline)
(let* ((pipe (open-input-pipe "echo child")) (line (read-line pipe)))
  (close-pipe pipe)
  (display line)
  (newline))
