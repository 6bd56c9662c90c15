// Transfers between files and memory. See transfer.h.
#include "fs/transfer.h"

#include "device/clock.h"
#include "fs/types.h"
#include "lib/memory_functions.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

struct IoVector {  // struct iovec
  u64 base;
  u64 length;
};
static_assert(sizeof(IoVector) == 16);

constexpr u64 max_pieces = 1024;            // UIO_MAXIOV
constexpr u64 max_transfer = 0x7fff'f000;   // Linux's MAX_RW_COUNT

}  // namespace

Transfer::Transfer(Transfer&& other) noexcept
    : kind_{other.kind_},
      kernel_{other.kernel_},
      kernel_source_{other.kernel_source_},
      space_{other.space_},
      caller_{other.caller_},
      base_{other.base_},
      count_{other.count_},
      size_{other.size_},
      index_{other.index_},
      skipped_{other.skipped_},
      own_done_{other.own_done_},
      done_{other.done_ == &other.own_done_ ? &own_done_ : other.done_} {}

Result<Transfer> Transfer::vector(vm::AddressSpace& space, vm::Caller& caller, VirtualAddress list, u64 count, u64& done) {
  if (count > max_pieces) return Errno::einval;
  u64 total = 0;
  bool outside = false;  // told after all lengths have been looked at
  for (u64 i = 0; i < count; ++i) {
    const IoVector piece = TRY(vm::read_user<IoVector>(space, caller, list + i * sizeof(IoVector)));
    if (static_cast<i64>(piece.length) < 0) return Errno::einval;
    outside |= piece.base > vm::user_end || piece.length > vm::user_end - piece.base;
    total = smaller(total + smaller(piece.length, max_transfer), max_transfer);
  }
  if (outside) return Errno::efault;
  Transfer transfer;
  transfer.kind_ = Kind::vector;
  transfer.space_ = &space;
  transfer.caller_ = &caller;
  transfer.base_ = list;
  transfer.count_ = count;
  transfer.size_ = total;
  transfer.done_ = &done;
  return Result<Transfer>{std::move(transfer)};
}

Result<Transfer::Piece> Transfer::piece_at(u64 at) {
  if (kind_ == Kind::user) return Piece{base_ + at, size_ - at};
  if (at < skipped_) {
    index_ = 0;
    skipped_ = 0;
  }
  while (index_ < count_) {
    const IoVector piece = TRY(vm::read_user<IoVector>(*space_, *caller_, base_ + index_ * sizeof(IoVector)));
    if (at - skipped_ < piece.length) return Piece{{piece.base + (at - skipped_)}, piece.length - (at - skipped_)};
    skipped_ += piece.length;
    ++index_;
  }
  return Errno::efault;  // the list was changed by another thread and is shorter now
}

template <class Copy>
Result<void> Transfer::each_piece(u64 at, u64 bytes, Copy&& copy) {
  u64 moved = 0;
  while (moved < bytes) {
    const Piece piece = TRY(piece_at(*done_ + at + moved));
    const u64 now = smaller(piece.size, bytes - moved);
    TRY(copy(piece.address, moved, now));
    moved += now;
  }
  return {};
}

Result<void> Transfer::put(u64 at, const void* from, u64 bytes) {
  if (kind_ == Kind::kernel) {
    memcpy(kernel_ + *done_ + at, from, bytes);
    return {};
  }
  if (kind_ == Kind::kernel_source) return Errno::efault;
  if (kind_ == Kind::user) return vm::copy_out(*space_, *caller_, base_ + (*done_ + at), from, bytes);
  return each_piece(at, bytes, [&](VirtualAddress to, u64 moved, u64 now) -> Result<void> {
    return vm::copy_out(*space_, *caller_, to, static_cast<const u8*>(from) + moved, now);
  });
}

Result<void> Transfer::get(u64 at, void* to, u64 bytes) {
  if (from_kernel()) {
    memcpy(to, (kind_ == Kind::kernel ? kernel_ : kernel_source_) + *done_ + at, bytes);
    return {};
  }
  if (kind_ == Kind::user) return vm::copy_in(*space_, *caller_, to, base_ + (*done_ + at), bytes);
  return each_piece(at, bytes, [&](VirtualAddress from, u64 moved, u64 now) -> Result<void> {
    return vm::copy_in(*space_, *caller_, static_cast<u8*>(to) + moved, from, now);
  });
}

Result<u64> Transfer::prepare(u64 bytes, vm::Access access) {
  bytes = smaller(bytes, smaller(left(), prepare_limit));
  if (from_kernel()) return bytes;
  u64 ready = 0;
  while (ready < bytes) {
    const Piece piece = TRY(piece_at(*done_ + ready));
    u64 now = smaller(piece.size, bytes - ready);
    Result<void> outcome = vm::prepare(*space_, *caller_, piece.address, now, access);
    if (!outcome.ok() && outcome.error() == Errno::efault && now > 1) {  // find how far it goes, page by page
      now = smaller(now, page_size - (piece.address.value & (page_size - 1)));
      outcome = vm::prepare(*space_, *caller_, piece.address, now, access);
    }
    if (!outcome.ok()) {
      if (outcome.error() == Errno::efault && ready > 0) return ready;
      return outcome.error();
    }
    ready += now;
  }
  return ready;
}

Errno pause_step(Thread& thread) {
  return thread.sleep_until(clock::now());
}

}  // namespace corral::fs
