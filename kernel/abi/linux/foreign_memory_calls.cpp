// process_vm_readv, process_vm_writev: bytes from another process's memory, or into it. Source: Linux process_vm_readv(2).
//
// Both sides are reached through the direct map, page by page, and both may answer blocked; what has been copied by then is in
// the step (word 0), so nothing is copied twice. A write that fails part of the way answers what was copied.
#include "abi/linux/file_handlers.h"
#include "memory/heap_array.h"
#include "task/authority.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

constexpr u64 most_pieces = 1024;         // UIO_MAXIOV
constexpr u64 most_bytes = 0x7fff'f000;   // MAX_RW_COUNT
constexpr u64 bytes_in_a_run = 1u << 20;  // a step cannot be interrupted

struct Piece {  // struct iovec
  u64 base, size;
};

// The pieces of one side, copied in.
class Pieces {
 public:
  // `own`: in the caller's own memory, where Linux checks the addresses at once and takes no more than a read may.
  Result<void> take(Call& call, VirtualAddress from, u64 count, bool own) {
    if (count > most_pieces) return Errno::einval;
    if (count == 0) return {};
    TRY(pieces_.allocate(count));
    TRY(vm::copy_in(call.space, call.thread.caller, pieces_.data(), from, count * sizeof(Piece)));
    for (Piece& piece : pieces_.all()) {
      if (static_cast<i64>(piece.size) < 0) return Errno::einval;
      if (!own) continue;
      if (piece.base + piece.size > arch::user_space_end || piece.base + piece.size < piece.base) return Errno::efault;
      if (piece.size > most_bytes - total_) piece.size = most_bytes - total_;
      total_ += piece.size;
    }
    return {};
  }

  // The place of the byte `at`, and how many follow it in its piece and page; 0: there is none.
  [[nodiscard]] Piece at(u64 at) {
    while (index_ < pieces_.size() && at - before_ >= pieces_[index_].size) before_ += pieces_[index_++].size;
    if (index_ == pieces_.size()) return {};
    const u64 base = pieces_[index_].base + (at - before_);
    const u64 in_page = page_size - base % page_size;
    const u64 left = pieces_[index_].size - (at - before_);
    return {base, left < in_page ? left : in_page};
  }

 private:
  memory::HeapArray<Piece> pieces_;
  u64 total_ = 0;
  u64 index_ = 0, before_ = 0;  // the piece that was looked at last, and the bytes before it
};

Result<void> copy(Call& call, vm::AddressSpace& other, VirtualAddress own, VirtualAddress foreign, u64 size, bool writes) {
  vm::Caller& caller = call.thread.caller;
  const u8* from =
      writes ? TRY(call.space.resolve(caller, own, vm::Access::read)) : TRY(other.resolve(caller, foreign, vm::Access::read));
  return writes ? vm::copy_out(other, caller, foreign, from, size) : vm::copy_out(call.space, caller, own, from, size);
}

Result<i64> move(Call& call, bool writes) {
  if (call.argument[5] != 0) return Errno::einval;
  Pieces own;
  Pieces foreign;
  TRY(own.take(call, call.address(1), call.argument[2], true));
  TRY(foreign.take(call, call.address(3), call.argument[4], false));
  u64& done = call.thread.step.word[0];
  if (own.at(done).size == 0 || foreign.at(done).size == 0) return static_cast<i64>(done);
  const Ref<Thread> target = processes::find_thread({call.number(0)});
  const Ref<vm::AddressSpace> space = target ? target->process().space() : Ref<vm::AddressSpace>{};
  if (!space) return done != 0 ? Result<i64>{static_cast<i64>(done)} : Errno::esrch;
  TRY(authority::may_look_into(call.thread, target->process(), authority::As::real));
  for (u64 in_run = 0;;) {
    const Piece here = own.at(done);
    const Piece there = foreign.at(done);
    const u64 size = here.size < there.size ? here.size : there.size;
    if (size == 0) return static_cast<i64>(done);
    const Result<void> copied = copy(call, *space, {here.base}, {there.base}, size, writes);
    if (!copied && (copied.error() == Errno::blocked || done == 0)) return copied.error();
    if (!copied) return static_cast<i64>(done);
    done += size;
    in_run += size;
    if (in_run < bytes_in_a_run) continue;
    const Errno pause = fs::pause_step(call.thread);
    return pause == Errno::blocked ? Result<i64>{pause} : Result<i64>{static_cast<i64>(done)};
  }
}

Result<i64> sys_process_vm_readv(Call& call) {
  return move(call, false);
}

Result<i64> sys_process_vm_writev(Call& call) {
  return move(call, true);
}

constexpr Entry entries[] = {{310, "process_vm_readv", sys_process_vm_readv},
                             {311, "process_vm_writev", sys_process_vm_writev}};

}  // namespace

std::span<const Entry> foreign_memory_calls() {
  return entries;
}

}  // namespace corral::abi
