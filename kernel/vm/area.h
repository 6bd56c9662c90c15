// An area: one range of addresses that the program asked for, with one protection and one source of pages.
// Pure data; who may touch it: AddressSpace, under its lock (vm/area_set.h orders areas and cuts them).
#pragma once

#include <span>
#include <utility>

#include "lib/atomic.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral {
class Waiter;
struct Frame;
}  // namespace corral

namespace corral::vm {

struct Protection {
  bool read = false, write = false, execute = false;
  bool operator==(const Protection&) const = default;
  [[nodiscard]] bool none() const { return !read && !write && !execute; }
};

// As stat(2) tells them: the file system, whose number is the minor one of a device, and the file in it. Both 0: no file.
struct FileIdentity {
  u64 device = 0;
  u64 number = 0;
};

// Where the pages of a mapping come from when they are first touched (a file's page cache). Null: zeroed memory.
class Backing : public RefCounted<Backing> {
 public:
  virtual ~Backing() = default;
  // The page with this index, with a reference for the caller; filled, zero beyond the end. Does not wait: eagain when the
  // page would have to be fetched first. Beyond the last page: efault (the program gets SIGBUS). enomem. No lock held.
  virtual Result<Frame*> page(u64 index) = 0;
  // Puts those pages from `first` on that are in memory already into `frames`, each with a reference, and null for the
  // others. For mapping neighbours of a page that was touched; none is a good answer. Called with no lock held.
  virtual void pages_at_hand([[maybe_unused]] u64 first, std::span<Frame*> frames) {
    for (Frame*& frame : frames) frame = nullptr;
  }
  // From `index` on the first page that may hold anything but zeros, without waiting; those before need not be asked for, and are not made.
  virtual u64 next_filled(u64 index) { return index; }
  // As page(), but the page may be fetched: blocked (then `waiter` is enlisted); eio: it cannot be read.
  virtual Result<Frame*> page_or_wait(u64 index, Waiter& waiter) {
    (void)waiter;
    return page(index);
  }

  // ---- shared mappings whose writes must reach the file --------------------------------------------------------------
  // True: prepare_write() is called before a page becomes writable in a shared mapping.
  [[nodiscard]] virtual bool notices_writes() const { return false; }
  // The page with this index, to which the caller has a reference or a mapping, is about to be written. No lock held.
  // blocked; enospc, eio: it cannot be kept.
  virtual Result<void> prepare_write([[maybe_unused]] u64 index, [[maybe_unused]] Waiter& waiter) { return {}; }
  // What was written through shared mappings is brought to where the file is kept. In a step; `progress` is 0 at first and kept by the
  // caller. blocked; eio, enospc.
  virtual Result<void> sync([[maybe_unused]] u64& progress) { return {}; }

  // ---- files that become shorter --------------------------------------------------------------------------------------
  // The file whose pages these are, for comparing; null: none that can become shorter.
  [[nodiscard]] virtual const void* file() const { return nullptr; }
  // How often it has become shorter. A page got before the last time may lie behind the end.
  [[nodiscard]] virtual u64 cuts() const { return 0; }
  // Which of System V's segments it is (ipc/sysv/segment.h); 0: none.
  [[nodiscard]] virtual u64 segment() const { return 0; }
  // What a person sees in /proc/[pid]/maps: the name, and which file it is.
  [[nodiscard]] virtual FileIdentity identity() const { return {}; }
  [[nodiscard]] virtual const char* name() const { return ""; }

  // How many areas map it, of all address spaces; who only looks at it is not counted.
  [[nodiscard]] u32 areas() const { return areas_.load(Order::acquire); }

 private:
  friend class MappedBacking;
  Atomic<u32> areas_{0};
};

// An area's backing: a reference to it that is counted as an area.
class MappedBacking {
 public:
  MappedBacking() = default;
  explicit MappedBacking(Ref<Backing> backing) : backing_{static_cast<Ref<Backing>&&>(backing)} {
    if (backing_) backing_->areas_.fetch_add(1, Order::relaxed);
  }
  MappedBacking(const MappedBacking& other) : MappedBacking{other.backing_} {}
  MappedBacking& operator=(MappedBacking other) noexcept {
    std::swap(backing_, other.backing_);
    return *this;
  }
  ~MappedBacking() {
    if (backing_) backing_->areas_.fetch_sub(1, Order::release);
  }

  [[nodiscard]] const Ref<Backing>& reference() const { return backing_; }
  [[nodiscard]] Backing* get() const { return backing_.get(); }
  Backing* operator->() const { return backing_.get(); }
  explicit operator bool() const { return static_cast<bool>(backing_); }

 private:
  Ref<Backing> backing_;
};

enum class AreaKind : u8 { anonymous, file, heap, stack };

struct Area {
  VirtualAddress start, end;  // page aligned, end exclusive
  Protection protection;
  bool shared = false;
  bool small_pages = false;  // no large ones, even if they would fit
  bool not_dumped = false;  // into a core file (MADV_DONTDUMP)
  bool locked = false;  // by mlock(2): counted, and its pages are not to be discarded
  u16 node_policy = 0;  // Linux's policy of memory nodes, kept to be told: there is one node
  bool grows_down = false;  // as far as the program touches it below its start; private and anonymous
  bool may_write = true;  // false: a shared mapping of a file that is open for reading only
  AreaKind kind = AreaKind::anonymous;
  MappedBacking backing;  // null: anonymous
  u64 first_page = 0;  // index in backing of the page at start
  TreeLink link;  // ordered by start; AreaSet
  Area* following = nullptr;  // in a chain of areas that were taken out; their owner

  [[nodiscard]] u64 length() const { return end - start; }
  [[nodiscard]] u64 page_index(VirtualAddress page) const { return first_page + (page - start) / page_size; }
  // Takes over what `other` is, except its place.
  void copy_attributes(const Area& other) {
    protection = other.protection;
    shared = other.shared;
    small_pages = other.small_pages;
    not_dumped = other.not_dumped;
    locked = other.locked;
    node_policy = other.node_policy;
    grows_down = other.grows_down;
    may_write = other.may_write;
    kind = other.kind;
    backing = other.backing;
    first_page = other.first_page;
  }
};

}  // namespace corral::vm
