// All terminals: opening them, and which one a session has. Any step of a thread.
#pragma once

#include "fs/inode.h"

namespace corral {
class Process;
}

namespace corral::fs {

// Opening the device files. /dev/console, whose files no hang-up ends; a line of the console; the terminal of the caller's
// session (enxio: it has none); a new pseudo-terminal (enospc: too many); one by number (eio: locked or gone).
Result<Ref<OpenFile>> open_console(Inode& node, const OpenRequest& request);
Result<Ref<OpenFile>> open_first_console(Inode& node);  // boot: for the first process, which adopts it afterwards
Result<Ref<OpenFile>> open_console_line(Inode& node, const OpenRequest& request);
Result<Ref<OpenFile>> open_own_terminal(Inode& node, const OpenRequest& request);
Result<Ref<OpenFile>> open_pseudo_terminal(Inode& node, const OpenRequest& request);
Result<Ref<OpenFile>> open_slave(Inode& node, u32 number, const OpenRequest& request);

// Boot context: the directory in which pseudo-terminals get their names.
void set_pseudo_terminal_directory(Ref<Inode> directory);

// The process has a controlling terminal.
[[nodiscard]] bool has_terminal(const Process& process);
// For /proc: the number of its controlling terminal as programs are told it, and the group in front; {0, -1}: none.
struct TerminalFacts {
  u64 device = 0;
  i32 foreground = -1;
};
[[nodiscard]] TerminalFacts terminal_of(const Process& process);
// The leader of a session ends: its terminal is lost, and hung up if it is a line.
void session_leader_ends(Process& leader);
// vhangup: the caller's terminal is hung up.
void hang_up_own(const Process& process);

}  // namespace corral::fs
