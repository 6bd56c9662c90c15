// An address space: areas (what the program asked for) and a page table (what the processor has been told so far).
//
// Consistency across cores (paper 004, section 4.2). Taking a mapping away, or rights of it:
//   1. areas and page table are changed under lock_; the frames that go are collected, not freed;
//   2. the calling core flushes its own TLB; every other core in active_ gets a drop_translations message (cores that
//      cannot hold the mapping are not interrupted); the caller blocks, its core runs other threads;
//   3. each core flushes and counts down; the last one wakes the caller, which frees the frames and returns.
// Such changes exclude one another (StepMutex changes_, held across the wait), so addresses are not given out again before
// every core has forgotten them. Plain faults and lookups do not take changes_.
//
// Rule for kernel access to user memory: within one step, a resolved page stays: the frame cannot be freed or become shared
// before this core has answered its mailbox, which it does only between steps. So resolve() gives a plain pointer.
// The kernel never touches user addresses themselves: SMAP stays closed.
#pragma once

#include "arch/page_table.h"
#include "lib/core_set.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "memory/frame.h"
#include "sync/waiter.h"
#include "vm/caller.h"

namespace corral::vm {

struct Protection {
  bool read = false, write = false, execute = false;
  bool operator==(const Protection&) const = default;
};

// Where the pages of a mapping come from when they are first touched (a file's page cache). Null: zeroed memory.
class Backing : public RefCounted<Backing> {
 public:
  virtual ~Backing() = default;
  // The page with this index, with a reference for the caller; filled, zero beyond the end. Must not wait. Beyond the last
  // page: efault (the program gets SIGBUS). enomem.
  virtual Result<Frame*> page(u64 index) = 0;
  // What a person sees in /proc/[pid]/maps.
  [[nodiscard]] virtual const char* name() const { return ""; }
};

enum class AreaKind : u8 { anonymous, file, heap, stack };

struct Area {
  VirtualAddress start, end;  // page aligned, end exclusive
  Protection protection;
  bool shared = false;
  AreaKind kind = AreaKind::anonymous;
  Ref<Backing> backing;       // null: anonymous
  u64 first_page = 0;         // index in backing of the page at start
  TreeLink link;              // ordered by start
};

enum class Access : u8 { read, write, execute };

struct MapRequest {
  VirtualAddress hint{};       // wish, or the exact place when fixed
  u64 length = 0;              // bytes, > 0; rounded up to pages
  Protection protection{};
  bool fixed = false;          // replaces what is there
  bool fixed_noreplace = false;  // eexist when something is there
  bool shared = false;
  bool populate = false;
  AreaKind kind = AreaKind::anonymous;
  Ref<Backing> backing{};
  u64 first_page = 0;
};

struct Usage {
  u64 mapped_bytes, resident_pages, table_pages;
};

class AddressSpace final : public RefCounted<AddressSpace> {
 public:
  static Result<Ref<AddressSpace>> create();  // empty; enomem
  ~AddressSpace();                            // frees everything; no core has it loaded

  // ---- steps: may answer blocked (see Caller). Errors as Linux's mmap(2), munmap(2), mprotect(2), brk(2), mremap(2),
  // madvise(2), in the order in which Linux checks them.
  Result<VirtualAddress> map(Caller& caller, const MapRequest& request);
  Result<void> unmap(Caller& caller, VirtualAddress start, u64 length);
  Result<void> protect(Caller& caller, VirtualAddress start, u64 length, Protection protection);
  Result<VirtualAddress> remap(Caller& caller, VirtualAddress old_start, u64 old_length, u64 new_length, bool may_move);
  Result<void> discard(Caller& caller, VirtualAddress start, u64 length);     // MADV_DONTNEED
  Result<VirtualAddress> set_break(Caller& caller, VirtualAddress wish);      // answers the break in force
  void set_break_start(VirtualAddress start);                                 // by the program loader
  // A copy-on-write child. The parent's writable private pages become read-only on every core first.
  Result<Ref<AddressSpace>> fork(Caller& caller);

  // A fault of the calling thread. ok: try the access again. blocked. efault: no such mapping or right (SIGSEGV);
  // eio: beyond the end of a file (SIGBUS); enomem: the process cannot go on.
  Result<void> handle_fault(Caller& caller, VirtualAddress address, Access access);

  // ---- kernel access to user memory ------------------------------------------------------------------------------
  // A kernel pointer to the user byte at `address`, good until the end of its page and of this step; faults the page in as
  // the program's own access would. efault, enomem, blocked.
  Result<u8*> resolve(Caller& caller, VirtualAddress address, Access access);

  // ---- the calling core loads and leaves it ------------------------------------------------------------------------
  // Own core, interrupts off. The space keeps a reference for each core that has it loaded.
  void activate();
  static void activate_kernel_only();  // leaves whatever this core has loaded (before idling, or when a thread ended)

  [[nodiscard]] Usage usage() EXCLUDES(lock_);
  // Calls visit for each area in order, for /proc/[pid]/maps.
  void for_each_area(void (*visit)(void* context, const Area& area), void* context) EXCLUDES(lock_);
  // Limit on mapped bytes (RLIMIT_AS); enomem beyond.
  void set_limit(u64 bytes);

 private:
  // The implementation's owner fills this in; SpinLock lock_{Rank::address_space, …}; StepMutex changes_; active_ …
  // (fields: see the implementation)
};

void initialise();  // boot context: message handler, zero page …

// ---- copies between kernel and user memory; blocked is passed on (run the step again) -----------------------------------
// All or nothing where it says "prepared": efault before anything has been changed.
Result<void> copy_in(AddressSpace& space, Caller& caller, void* to, VirtualAddress from, u64 size);
Result<void> copy_out(AddressSpace& space, Caller& caller, VirtualAddress to, const void* from, u64 size);
// Makes [start, start+size) accessible (faults everything in), so that copies in this step cannot block or fail. At most
// 1 MiB at a time. efault …
Result<void> prepare(AddressSpace& space, Caller& caller, VirtualAddress start, u64 size, Access access);
// A NUL-terminated string of at most size - 1 bytes; enametoolong when longer. Returns its length.
Result<u64> copy_string_in(AddressSpace& space, Caller& caller, char* to, u64 size, VirtualAddress from);

template <class T>
Result<T> read_user(AddressSpace& space, Caller& caller, VirtualAddress from) {
  T value{};
  TRY(copy_in(space, caller, &value, from, sizeof(T)));
  return value;
}
template <class T>
Result<void> write_user(AddressSpace& space, Caller& caller, VirtualAddress to, const T& value) {
  return copy_out(space, caller, to, &value, sizeof(T));
}

}  // namespace corral::vm
