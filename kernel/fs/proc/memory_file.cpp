// /proc/[pid]/mem: a process's memory as a file, at the process's addresses, for debuggers. Source: proc(5); Linux fs/proc/base.c.
// What the process itself may not do with its memory does not matter (AddressSpace::write_by_force).
#include "fs/proc/proc.h"
#include "fs/proc/space_file.h"
#include "memory/heap.h"

namespace corral::fs::proc {

namespace {

class MemoryFile final : public SpaceFile {
 public:
  using SpaceFile::SpaceFile;
  Result<u64> read_at(Thread& thread, u64 offset, Transfer& transfer) override {
    return move(thread, offset, transfer, vm::Access::read);
  }
  Result<u64> write_at(Thread& thread, u64 offset, Transfer& transfer) override {
    return move(thread, offset, transfer, vm::Access::write);
  }

 private:
  static constexpr u64 piece_size = 1024;  // bytes, on the stack

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
};

}  // namespace

Result<Ref<OpenFile>> open_process_memory(Inode& inode, const OpenRequest& request, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  return Ref<OpenFile>{
      Ref<MemoryFile>::adopt(TRY(memory::make<MemoryFile>(Ref<Inode>::share(inode), request.flags, *process)))};
}

}  // namespace corral::fs::proc
