// A terminal: a line discipline, the output that is on its way, and the session that it controls. Two kinds derive from it: the
// console (console_terminal.h), whose other end are devices, and pseudo-terminals (pseudo_terminal.h), whose other end is a
// program.
//
// What programs write goes through the line discipline into a ring, and whoever is at the other end takes it from there; nobody
// waits with the processor in hand. What is typed at the other end is edited and echoed, and wakes readers.
//
// Hanging up makes every file of the terminal that is open useless: it belongs to a life of the terminal that is over.
//
// lock_ (rank terminal) protects everything. Signals are sent without it: their locks rank below.
// Context: steps of threads; type() of the console in interrupt context.
#pragma once

#include "fs/line_discipline.h"
#include "fs/poll_set.h"
#include "fs/types.h"
#include "sync/waiter.h"
#include "task/signals.h"

namespace corral {
class Process;
class Thread;
}  // namespace corral

namespace corral::fs {

class Transfer;

class Terminal : private LineDiscipline::Echo {
 public:
  constexpr Terminal(DeviceNumber number, const tty::Termios& settings, const tty::WindowSize& window)
      : discipline_{settings}, number_{number}, window_{window} {}
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // ---- files that are open: each belongs to the life in which it was opened ----
  using Life = u32;
  static constexpr Life every_life = 0;  // of files that no hang-up ends: /dev/console
  static constexpr Life other_end = ~Life{0};  // the master of a pseudo-terminal
  [[nodiscard]] Life opened() EXCLUDES(lock_);
  [[nodiscard]] Life opened_locked() REQUIRES(lock_);
  void closed(Life life) EXCLUDES(lock_);
  Result<u64> read(Thread& thread, Transfer& transfer, bool nonblocking, Life life) EXCLUDES(lock_);
  Result<u64> write(Thread& thread, Transfer& transfer, bool nonblocking, Life life) EXCLUDES(lock_);
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument, Life life) EXCLUDES(lock_);
  u32 poll(PollEntry* entry, Life life) EXCLUDES(lock_);
  Result<u64> available(Life life) EXCLUDES(lock_);  // eio
  // Ends the life: readers find the end, writers eio; the session loses its terminal, its leader gets SIGHUP and SIGCONT.
  void hang_up() EXCLUDES(lock_);

  // ---- sessions (terminal_jobs.cpp) ----
  [[nodiscard]] DeviceNumber number() const { return number_; }
  // The session that this is the controlling terminal of; 0: none.
  [[nodiscard]] i32 session() const { return session_.load(Order::relaxed); }
  [[nodiscard]] i32 foreground_group() const { return foreground_.load(Order::relaxed); }
  [[nodiscard]] bool controls(const Process& process) const;
  // Becomes the controlling terminal of the process's session if it leads one and neither has another.
  void adopt(Process& process);
  // The leader of its session ends, or gives it up: the foreground group gets SIGHUP, and SIGCONT if `go_on`.
  void lose_session(bool go_on);

 protected:
  ~Terminal() = default;

  // The other end: there is more to take. False from drains(): nobody waits until it has been taken.
  virtual void pump() REQUIRES(lock_) = 0;
  [[nodiscard]] virtual bool drains() const REQUIRES(lock_) { return false; }
  virtual void last_closed() REQUIRES(lock_) {}
  virtual void input_taken() REQUIRES(lock_) {}  // there is room for more
  // For packet mode of pseudo-terminals.
  enum class Event : u8 { input_flushed, output_flushed, stopped, started, settings };
  virtual void note(Event) REQUIRES(lock_) {}

  // Characters from the other end; answers the signals to be sent with send_typed(), without the lock.
  [[nodiscard]] SignalSet type(std::string_view bytes) REQUIRES(lock_);
  void send_typed(SignalSet signals) EXCLUDES(lock_);
  // Everything up to this position has been taken.
  void taken(u64 position) REQUIRES(lock_);
  Result<i64> settings_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) EXCLUDES(lock_);

  static constexpr u64 ring_size = 8192;
  [[nodiscard]] u64 room() const REQUIRES(lock_) { return ring_size - (produced_ - taken_); }

  SpinLock lock_{Rank::terminal, "terminal"};
  LineDiscipline discipline_ GUARDED_BY(lock_);
  WaitQueue input_wanted_{lock_}, room_wanted_{lock_};
  PollSource source_{lock_};
  u64 produced_ GUARDED_BY(lock_) = 0;  // positions in the ring since the beginning
  u64 taken_ GUARDED_BY(lock_) = 0;
  char ring_[ring_size] GUARDED_BY(lock_) = {};

 private:
  void show(char c) override;
  void put_out(char c) REQUIRES(lock_);
  [[nodiscard]] bool over(Life life) const REQUIRES(lock_) { return life != every_life && life != other_end && life != life_; }
  [[nodiscard]] bool wanted_now(u64 wish) const REQUIRES(lock_);
  [[nodiscard]] Errno wait_for_input(Thread& thread) REQUIRES(lock_);
  void set_stopped(bool stopped) REQUIRES(lock_);
  Result<void> check_background(Thread& thread, int signal) EXCLUDES(lock_);
  [[nodiscard]] tty::Termios settings() EXCLUDES(lock_);
  Result<i64> set_settings(Thread& thread, u32 request, const tty::Termios& settings);
  Result<i64> drain(Thread& thread) EXCLUDES(lock_);
  Result<i64> flush(u64 which) EXCLUDES(lock_);
  Result<i64> flow(u64 action) EXCLUDES(lock_);
  Result<i64> set_window_size(Thread& thread, vm::AddressSpace& space, u64 argument);
  Result<i64> session_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument, Life life);
  Result<i64> set_foreground(Thread& thread, vm::AddressSpace& space, u64 argument);
  Result<i64> take_session(Process& process, bool steal);
  Result<i64> leave_session(Process& process);

  const DeviceNumber number_;
  tty::WindowSize window_ GUARDED_BY(lock_);
  u32 speeds_[2] GUARDED_BY(lock_) = {38400, 38400};
  Life life_ GUARDED_BY(lock_) = 1;
  u32 open_files_ GUARDED_BY(lock_) = 0;  // of this life
  Atomic<i32> session_{0};  // written under lock_
  Atomic<i32> foreground_{0};  // likewise
};

}  // namespace corral::fs
