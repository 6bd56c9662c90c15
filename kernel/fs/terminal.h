// The console terminal: one for the machine, over every console device. What programs write goes through the line
// discipline into a ring and from there to each device as fast as that device takes it; nobody waits for a device with
// the processor in hand. What is typed on any device comes in by interrupt, is edited and echoed, and wakes readers.
//
// lock_ (rank terminal) protects everything. Signals to process groups are sent without it: their locks rank below.
// Context: steps of threads; on_input and on_output_room in interrupt context.
#pragma once

#include "device/console.h"
#include "fs/line_discipline.h"
#include "fs/poll_set.h"
#include "sync/waiter.h"

namespace corral {
class Process;
class Thread;
}  // namespace corral

namespace corral::fs {

class Transfer;

class Terminal final : public InputListener, private LineDiscipline::Echo {
 public:
  constexpr Terminal() = default;

  // Boot context: output goes there, input is taken from there.
  void attach(ConsoleDevice& device) EXCLUDES(lock_);
  // Writes by polling what the devices have not taken yet.
  void flush_now() EXCLUDES(lock_);

  Result<u64> read(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  Result<u64> write(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) EXCLUDES(lock_);
  u32 poll(PollEntry* entry) EXCLUDES(lock_);
  [[nodiscard]] u64 available() EXCLUDES(lock_);

  // The session that this is the controlling terminal of; 0: none.
  [[nodiscard]] i32 session() const { return session_.load(Order::relaxed); }
  [[nodiscard]] i32 foreground_group() const { return foreground_.load(Order::relaxed); }
  // Becomes the controlling terminal of the process's session if it leads one and neither has another.
  void adopt(Process& process);

  // InputListener
  void on_input(std::string_view bytes) override EXCLUDES(lock_);
  void on_output_room() override EXCLUDES(lock_);

 private:
  static constexpr u32 max_devices = 4;
  static constexpr u64 ring_size = 8192;

  void show(char c) override;
  void put_out(char c) REQUIRES(lock_);
  void pump() REQUIRES(lock_);
  [[nodiscard]] u64 room() const REQUIRES(lock_) { return ring_size - (produced_ - sent_by_all_); }
  [[nodiscard]] bool wanted_now(u64 wish) const REQUIRES(lock_);
  [[nodiscard]] Errno wait_for_input(Thread& thread) REQUIRES(lock_);
  Result<void> check_background(Thread& thread, int signal);
  Result<i64> set_settings(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument);
  Result<i64> set_window_size(Thread& thread, vm::AddressSpace& space, u64 argument);
  Result<i64> set_foreground(Thread& thread, vm::AddressSpace& space, u64 argument);
  Result<i64> take_session(Process& process, bool steal);
  Result<i64> leave_session(Process& process);
  [[nodiscard]] bool controls(const Process& process) const;

  SpinLock lock_{Rank::terminal, "terminal"};
  LineDiscipline discipline_ GUARDED_BY(lock_);
  tty::WindowSize window_ GUARDED_BY(lock_){25, 80, 0, 0};
  WaitQueue input_wanted_{lock_}, room_wanted_{lock_};
  PollSource source_{lock_};
  ConsoleDevice* devices_[max_devices] GUARDED_BY(lock_) = {};
  u64 sent_[max_devices] GUARDED_BY(lock_) = {};  // positions in the ring since the beginning
  u32 device_count_ GUARDED_BY(lock_) = 0;
  u64 sent_by_all_ GUARDED_BY(lock_) = 0;
  u64 produced_ GUARDED_BY(lock_) = 0;
  char ring_[ring_size] GUARDED_BY(lock_) = {};
  Atomic<i32> session_{0};
  Atomic<i32> foreground_{0};
};

[[nodiscard]] Terminal& console_terminal();

// The console terminal, opened.
Result<Ref<OpenFile>> open_terminal(Inode& node, u32 flags);

}  // namespace corral::fs
