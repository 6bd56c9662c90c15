# A session without a terminal; its window's program; a second window; its end.
tmux -L trial new-session -d -s first 'echo in the window > /tmp/window; sleep 100'
while [ ! -s /tmp/window ]; do sleep 0.1; done
tmux -L trial new-window -t first 'sleep 100'
tmux -L trial list-windows -t first -F '#{window_index}'
cat /tmp/window
tmux -L trial kill-server
