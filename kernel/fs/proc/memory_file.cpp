// /proc/[pid]/mem: a process's memory as a file, at the process's addresses, for debuggers. Source: proc(5); Linux fs/proc/base.c.
//
// The rights are those of whoever opens it. It shows the program that the process was executing then, and its end when the process executes
// another one or ends. What the process itself may not do with its memory does not matter (AddressSpace::write_by_force).
#include "fs/positioned_file.h"
#include "fs/proc/proc.h"
#include "fs/transfer.h"
#include "memory/heap.h"

namespace corral::fs::proc {

namespace {

class MemoryFile final : public OpenFile {
 public:
  MemoryFile(Ref<Inode> inode, u32 flags, ProcessId process, u64 space)
      : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, process_{process}, space_{space} {}

  Result<u64> read(Thread& thread, Transfer& transfer) override { return at_position(thread, transfer, vm::Access::read); }
  Result<u64> write(Thread& thread, Transfer& transfer) override { return at_position(thread, transfer, vm::Access::write); }
  Result<u64> read_at(Thread& thread, u64 offset, Transfer& transfer) override {
    return move(thread, offset, transfer, vm::Access::read);
  }
  Result<u64> write_at(Thread& thread, u64 offset, Transfer& transfer) override {
    return move(thread, offset, transfer, vm::Access::write);
  }
  Result<u64> seek(i64 offset, Whence whence) override {
    if (whence != Whence::start && whence != Whence::current) return Errno::einval;
    const u64 target = TRY(seek_target(offset, whence, position_.load(Order::relaxed), 0));
    position_.store(target, Order::relaxed);
    return target;
  }
  Result<void> resize(u64) override { return {}; }

 private:
  static constexpr u64 piece_size = 1024;  // bytes, on the stack

  [[nodiscard]] Ref<vm::AddressSpace> space() const {
    const Ref<Process> process = processes::find(process_);
    Ref<vm::AddressSpace> found = process ? process->space() : Ref<vm::AddressSpace>{};
    return found && found->number() == space_ ? found : Ref<vm::AddressSpace>{};
  }

  // Threads that share the position may read the same bytes, as on Linux.
  Result<u64> at_position(Thread& thread, Transfer& transfer, vm::Access access) {
    const u64 before = transfer.done();
    const u64 position = position_.load(Order::relaxed);
    Result<u64> done = move(thread, position - before, transfer, access);
    position_.store(position + (transfer.done() - before), Order::relaxed);
    return done;
  }

  // `offset` is that of the whole transfer's beginning.
  Result<u64> move(Thread& thread, u64 offset, Transfer& transfer, vm::Access access) const {
    const Ref<vm::AddressSpace> target = space();
    const u64 before = transfer.done();
    while (target && transfer.left() > 0) {
      const Result<u64> moved = move_piece(thread, *target, {offset + transfer.done()}, transfer, access);
      if (!moved.ok() && (moved.error() == Errno::blocked || transfer.done() == 0)) return moved.error();
      if (!moved.ok()) break;
      transfer.advance(moved.value());
      if (transfer.done() - before < bytes_without_pause) continue;
      if (pause_step(thread) == Errno::blocked) return Errno::blocked;
      break;
    }
    return transfer.done();
  }

  // A few bytes of one page. eio: nothing is mapped there; efault: the transfer's own memory cannot be reached.
  static Result<u64> move_piece(Thread& thread, vm::AddressSpace& target, VirtualAddress at, Transfer& transfer,
                                vm::Access access) {
    u8 piece[piece_size];
    const u64 size = vm::within_page(at, smaller(transfer.left(), sizeof piece));
    if (access == vm::Access::write) TRY(transfer.get(0, piece, size));
    const Result<void> reached = access == vm::Access::write ? target.write_by_force(thread.caller, at, {piece, size})
                                                             : target.read_by_force(thread.caller, at, {piece, size});
    if (!reached.ok()) return reached.error() == Errno::efault ? Errno::eio : reached.error();
    if (access == vm::Access::read) TRY(transfer.put(0, piece, size));
    return size;
  }

  const ProcessId process_;
  const u64 space_;  // AddressSpace::number(); 0: there was none
  Atomic<u64> position_{0};
};

}  // namespace

Result<Ref<OpenFile>> open_process_memory(Inode& inode, const OpenRequest& request, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  const Ref<vm::AddressSpace> space = process->space();
  return Ref<OpenFile>{Ref<MemoryFile>::adopt(
      TRY(memory::make<MemoryFile>(Ref<Inode>::share(inode), request.flags, process->id(), space ? space->number() : 0)))};
}

}  // namespace corral::fs::proc
