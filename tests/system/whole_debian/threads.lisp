; Four threads, a whole garbage collection, a child.
(let ((threads (loop for i below 4
                     collect (let ((i i))
                               (sb-thread:make-thread (lambda () (loop for k below 100000 sum (mod k (+ i 2)))))))))
  (format t "~a~%" (mapcar #'sb-thread:join-thread threads)))
(sb-ext:gc :full t)
(format t "~a" (with-output-to-string (out) (sb-ext:run-program "/bin/echo" '("child") :output out)))
