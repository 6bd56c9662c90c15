// An open file about a process's memory, with a position: /proc/[pid]/mem, pagemap. Source: proc(5); Linux fs/proc/base.c.
//
// The rights are those of whoever opens it. It shows the program that the process was executing then, and its end when the process executes
// another one or ends.
#pragma once

#include "fs/positioned_file.h"
#include "fs/transfer.h"
#include "task/process.h"

namespace corral::fs::proc {

class SpaceFile : public OpenFile {
 public:
  SpaceFile(Ref<Inode> inode, u32 flags, Process& process)
      : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, process_{process.id()}, space_{number_of(process.space().get())} {}

  Result<u64> read(Thread& thread, Transfer& transfer) final {
    return at_position(transfer, [&](u64 offset) { return read_at(thread, offset, transfer); });
  }
  Result<u64> write(Thread& thread, Transfer& transfer) final {
    return at_position(transfer, [&](u64 offset) { return write_at(thread, offset, transfer); });
  }
  Result<u64> seek(i64 offset, Whence whence) final {
    if (whence != Whence::start && whence != Whence::current) return Errno::einval;
    const u64 target = TRY(seek_target(offset, whence, position_.load(Order::relaxed), 0));
    position_.store(target, Order::relaxed);
    return target;
  }
  Result<void> resize(u64) final { return {}; }

 protected:
  // Null: the process has another one, or none.
  [[nodiscard]] Ref<vm::AddressSpace> space() const {
    const Ref<Process> process = processes::find(process_);
    Ref<vm::AddressSpace> found = process ? process->space() : Ref<vm::AddressSpace>{};
    return number_of(found.get()) == space_ ? std::move(found) : Ref<vm::AddressSpace>{};
  }

 private:
  static u64 number_of(const vm::AddressSpace* space) { return space == nullptr ? 0 : space->number(); }

  // Threads that share the position may move the same bytes, as on Linux. `offset` is that of the whole transfer's beginning.
  template <class Move>
  Result<u64> at_position(const Transfer& transfer, Move&& move) {
    const u64 before = transfer.done();
    const u64 position = position_.load(Order::relaxed);
    Result<u64> done = move(position - before);
    if (done.ok() || done.error() == Errno::blocked) position_.store(position + (transfer.done() - before), Order::relaxed);
    return done;
  }

  const ProcessId process_;
  const u64 space_;  // AddressSpace::number(); 0: there was none
  Atomic<u64> position_{0};
};

}  // namespace corral::fs::proc
