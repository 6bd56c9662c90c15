// Where the bytes of a read go, or those of a write come from: user memory (one piece or an iovec list) or the kernel's.
//
// A step may be run again after a wait, so a transfer keeps its progress outside itself: done() lives in the thread's
// StepState for system calls. put() and get() may answer blocked (a page of the program is being changed on other
// cores); nothing has been moved then. They take the address space's locks: no lock of a higher rank may be held.
// Context: the thread's own step.
#pragma once

#include <span>

#include "lib/result.h"
#include "lib/types.h"
#include "vm/address_space.h"

namespace corral {
class Thread;
}

namespace corral::fs {

class Transfer {
 public:
  // Kernel memory; progress in the object itself.
  explicit Transfer(std::span<u8> memory) : kind_{Kind::kernel}, kernel_{memory.data()}, size_{memory.size()} {}
  explicit Transfer(std::span<const u8> memory)
      : kind_{Kind::kernel_source}, kernel_source_{memory.data()}, size_{memory.size()} {}
  // One piece of user memory.
  Transfer(vm::AddressSpace& space, vm::Caller& caller, VirtualAddress base, u64 size, u64& done)
      : kind_{Kind::user}, space_{&space}, caller_{&caller}, base_{base}, size_{size}, done_{&done} {}
  // An iovec list in user memory, as Linux has it. einval: more than 1024 pieces, or a length below 0;
  // efault.
  static Result<Transfer> vector(vm::AddressSpace& space, vm::Caller& caller, VirtualAddress list, u64 count, u64& done);

  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  Transfer(Transfer&& other) noexcept;

  [[nodiscard]] u64 size() const { return size_; }
  [[nodiscard]] u64 done() const { return *done_; }
  [[nodiscard]] u64 left() const { return size_ - *done_; }
  void advance(u64 bytes) { *done_ += bytes; }
  // Kernel memory: a file hands over what it has and does not wait for the rest.
  [[nodiscard]] bool from_kernel() const { return kind_ == Kind::kernel || kind_ == Kind::kernel_source; }

  // Copies to, or from, the place `at` bytes behind done(). efault, blocked, enomem.
  Result<void> put(u64 at, const void* from, u64 bytes);
  Result<void> get(u64 at, void* to, u64 bytes);
  // Makes the next `bytes` (at most prepare_limit) behind done() accessible, so that copies in this step cannot block unless
  // the program takes its memory away meanwhile. Answers how many bytes are accessible: fewer when an invalid
  // address follows; efault when it is the first.
  Result<u64> prepare(u64 bytes, vm::Access access);

  static constexpr u64 prepare_limit = 256 << 10;

 private:
  enum class Kind : u8 { kernel, kernel_source, user, vector };
  Transfer() = default;

  // The user address of the byte `at` of the whole, and how many bytes follow it in its piece.
  struct Piece {
    VirtualAddress address;
    u64 size;
  };
  Result<Piece> piece_at(u64 at);
  template <class Copy>
  Result<void> each_piece(u64 at, u64 bytes, Copy&& copy);

  Kind kind_ = Kind::kernel;
  u8* kernel_ = nullptr;
  const u8* kernel_source_ = nullptr;
  vm::AddressSpace* space_ = nullptr;
  vm::Caller* caller_ = nullptr;
  VirtualAddress base_{};  // of the piece, or of the iovec list
  u64 count_ = 0;          // pieces
  u64 size_ = 0;
  // Where the last look-up in the list ended: piece `index_` starts `skipped_` bytes into the whole.
  u64 index_ = 0;
  u64 skipped_ = 0;
  u64 own_done_ = 0;
  u64* done_ = &own_done_;
};

// Steps cannot be interrupted: one that has moved this many bytes lets the rest of the core go first.
inline constexpr u64 bytes_without_pause = 4 << 20;
// Ends this run of the step so that its core can do what else is to be done; it is run again at once. blocked; restart:
// a signal is pending.
[[nodiscard]] Errno pause_step(Thread& thread);

}  // namespace corral::fs
