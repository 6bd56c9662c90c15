// A pseudo-terminal: a terminal whose other end, the master, is held by a program, such as a terminal emulator. What the master
// writes is typed; what programs write to the terminal, the master reads. Source: Linux pty(7), ioctl_tty(2).
//
// It exists as long as its master is open: then it has a number and a name in /dev/pts (pseudo_terminals.h). When the master is
// closed it is hung up; when the last file of the terminal is closed the master reads what is left, then eio.
#pragma once

#include "fs/terminal.h"
#include "lib/ref.h"

namespace corral::fs {

class PseudoTerminal final : public Terminal, public RefCounted<PseudoTerminal> {
 public:
  static constexpr u32 device_major = 136;
  explicit PseudoTerminal(u32 number) : Terminal{{device_major, number}, tty::initial, {}} {}

  // A file of the terminal is opened: the master no longer reads its end. eio: it is locked (TIOCSPTLCK), or has no master.
  Result<Life> slave_opened() EXCLUDES(lock_);

  // ---- the master ----
  Result<u64> read_output(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  Result<u64> type_input(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  Result<i64> master_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) EXCLUDES(lock_);
  u32 poll_master(PollEntry* entry) EXCLUDES(lock_);
  [[nodiscard]] u64 output_available() EXCLUDES(lock_);
  void master_closed() EXCLUDES(lock_);

 private:
  void pump() override REQUIRES(lock_);
  void last_closed() override REQUIRES(lock_);
  void input_taken() override REQUIRES(lock_);
  void note(Event event) override REQUIRES(lock_);
  void wake_master(u32 bits) REQUIRES(lock_);
  Result<i64> send_signal(u64 signal) EXCLUDES(lock_);

  WaitQueue output_wanted_{lock_};
  PollSource master_source_{lock_};
  bool locked_ GUARDED_BY(lock_) = true;
  bool without_master_ GUARDED_BY(lock_) = false;
  enum class Slave : u8 { never_opened, open, closed } slave_ GUARDED_BY(lock_) = Slave::never_opened;
  bool packets_ GUARDED_BY(lock_) = false;
  bool flow_keys_ GUARDED_BY(lock_) = true;  // ^S and ^Q stop and start, as the master was told last
  u8 packet_status_ GUARDED_BY(lock_) = 0;  // TIOCPKT_ bits that the master has not read
};

}  // namespace corral::fs
