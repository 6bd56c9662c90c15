// An address space: areas (what the program asked for) and a page table (what the processor has been told so far).
//
// Consistency across cores (paper 004, section 4.2). Taking a mapping away, or rights of it:
//   1. areas and page table are changed under lock_; the frames that go are collected, not freed;
//   2. the calling core flushes its own TLB; every other core in active_ gets a drop_translations message (cores that
//      do not use the space are not interrupted: they find a new generation when they come back to it); the caller
//      blocks, its core runs other threads;
//   3. each core flushes and counts down; the last one wakes the caller, which frees the frames and returns.
// Such changes exclude one another (StepMutex changes_, held across the wait), so addresses are not given out again before
// every core has forgotten them. Plain faults and lookups do not take changes_.
//
// Breaking the sharing of a copy-on-write page replaces a translation, too: the copy is mapped read-only (reading it or the
// old page is the same), the other cores drop the old translation, and only then may anyone make the copy writable. The
// last core that answers ends it; the thread just tries again. Giving rights needs no message: a core with the old
// entry faults, finds that the table allows the access, and flushes its own entry.
// While a fork waits for the other cores (copying_), faults wait: the child is a picture of one moment.
//
// Rule for kernel access to user memory: within one step, a resolved page stays: the frame cannot be freed or become shared
// before this core has answered its mailbox, which it does only between steps. So resolve() gives a plain pointer.
// The kernel never touches user addresses themselves: SMAP stays closed.
#pragma once

#include <span>

#include "arch/page_table.h"
#include "lib/core_set.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "memory/frame.h"
#include "sync/waiter.h"
#include "vm/area.h"
#include "vm/area_set.h"
#include "vm/caller.h"
#include "vm/table_holder.h"

namespace corral::vm {

// ---- where things are in an address space ---------------------------------------------------------------------------------
inline constexpr u64 user_end = arch::user_space_end;
// Nothing is ever mapped below, so that null pointers with an offset fault (as Linux's vm.mmap_min_addr).
inline constexpr u64 lowest_address = 64u << 10;
// The first thread's stack ends here and grows down. What has no place of its own is put below the room for it: as much as the limit of
// the stack was when the program was executed, but no more than leaves programs their places, and 2 MiB more, where the vDSO is.
inline constexpr u64 stack_end = user_end - page_size;
inline constexpr u64 least_stack_room = 64u << 20, most_stack_room = user_end / 4;
constexpr VirtualAddress mapping_ceiling(u64 stack_limit) {
  const u64 at_least = stack_limit < least_stack_room ? least_stack_room : stack_limit;
  const u64 room = at_least > most_stack_room ? most_stack_room : at_least;
  return {round_down(stack_end - room - (2u << 20), 1u << 20)};
}

enum class Access : u8 { read, write, execute };

// What of [address, address + size) lies in the page of `address`.
constexpr u64 within_page(VirtualAddress address, u64 size) {
  const u64 left = page_size - address.value % page_size;
  return size < left ? size : left;
}

struct MapRequest {
  VirtualAddress hint{};  // wish, or the exact place when fixed
  u64 length = 0;  // bytes, > 0; rounded up to pages
  Protection protection{};
  bool fixed = false;  // replaces what is there
  bool fixed_noreplace = false;  // eexist when something is there
  bool shared = false;  // with children; anonymous ones get a backing of their own
  bool may_write = true;  // false: mprotect must not add the right to write (file open for reading only)
  bool populate = false;
  bool small_pages = false;  // never large ones
  bool locked = false;
  bool grows_down = false;
  bool reserve = true;  // false: as much as wished, whatever memory there is (MAP_NORESERVE)
  VirtualAddress limit{user_end};  // unless fixed: the area ends at or below
  AreaKind kind = AreaKind::anonymous;
  Ref<Backing> backing{};
  u64 first_page = 0;
};

struct RemapRequest {
  VirtualAddress old_start{};
  u64 old_length = 0, new_length = 0;  // bytes
  bool may_move = false;
  bool fixed = false;  // moves to new_start, replacing what is there; with may_move only
  VirtualAddress new_start{};  // of fixed; otherwise only checked
  bool keeps_old = false;  // the old place stays mapped, without its pages; with may_move and equal lengths only
};

// One look at which pages are touched: from its begin_access_round() to its end_access_round(), on one core.
struct AccessRound {
  u64 space = 0;  // AddressSpace::number(); 0: none is under way
  u64 number = 0;  // in its space
  VirtualAddress from{}, to{};  // looked at; then also
  VirtualAddress low_to{};  // [0, low_to)
};

struct Usage {
  u64 mapped_bytes, peak_bytes, resident_pages, peak_pages, table_pages;
  VirtualAddress break_start;
};

// Pages of areas that are in memory.
struct PageCounts {
  u64 shared_clean = 0, shared_dirty = 0, private_clean = 0, private_dirty = 0;
  u64 anonymous = 0, large = 0, locked = 0;  // of these
  u64 share_bytes = 0;  // each page divided by the number of its users
  [[nodiscard]] u64 resident() const { return shared_clean + shared_dirty + private_clean + private_dirty; }
  void add(const PageCounts& other);
};

// What is mapped at a page.
struct PageState {
  bool present = false;
  bool anonymous = false;  // otherwise it belongs to the area's backing
  bool mapped_once = false;
  PhysicalAddress frame{};
};

class AddressSpace final : public RefCounted<AddressSpace> {
 public:
  static Result<Ref<AddressSpace>> create();  // empty; enomem
  ~AddressSpace();  // frees everything; no core uses it

  // ---- steps: may answer blocked (see Caller). Errors as Linux's mmap(2), munmap(2), mprotect(2), brk(2), mremap(2),
  // madvise(2), in the order in which Linux checks them. An operation that goes on is
  // given the same arguments again; map() does not look at its request then.
  Result<VirtualAddress> map(Caller& caller, const MapRequest& request);
  Result<void> unmap(Caller& caller, VirtualAddress start, u64 length);
  // `from_start_of_growing` (PROT_GROWSDOWN): from where the first area there begins, which grows down. enomem: there is none; einval: it does not.
  Result<void> protect(Caller& caller, VirtualAddress start, u64 length, Protection protection,
                       bool from_start_of_growing = false);
  Result<VirtualAddress> remap(Caller& caller, const RemapRequest& request);
  // MADV_DONTNEED; with `anonymous_only` MADV_FREE: einval when the range has anything else.
  Result<void> discard(Caller& caller, VirtualAddress start, u64 length, bool anonymous_only = false);
  // `file` (Backing::file) ends before its page `first_page` now: what mappings have from there on is taken out, private copies too, so
  // that the next access finds the end. Any address space, not only the caller's own.
  Result<void> forget_file_pages(Caller& caller, const void* file, u64 first_page);
  Result<VirtualAddress> set_break(Caller& caller, VirtualAddress wish);  // answers the break in force
  void set_break_start(VirtualAddress start) EXCLUDES(lock_);  // by the program loader
  // By the program loader, first of all: mapping_ceiling() for this limit is in force.
  void leave_room_for_stack(u64 limit) EXCLUDES(lock_);
  [[nodiscard]] VirtualAddress ceiling() EXCLUDES(lock_);
  // MADV_NOHUGEPAGE, MADV_HUGEPAGE: whether large pages may appear in the range from now on. enomem: gaps.
  Result<void> advise_large(Caller& caller, VirtualAddress start, u64 length, bool allowed);
  // MADV_DONTDUMP, MADV_DODUMP: whether a core file holds the range. enomem: gaps.
  Result<void> advise_dump(Caller& caller, VirtualAddress start, u64 length, bool wanted);
  // What mbind() asks for, and what it was. efault: the range has a gap, and nothing has changed; enomem.
  Result<void> keep_node_policy(Caller& caller, VirtualAddress start, u64 length, u16 policy);
  Result<u16> node_policy(VirtualAddress address) EXCLUDES(lock_);
  // mlock, munlock: marks the range, or all areas there are. enomem: gaps; what lies between them is marked.
  Result<void> set_locked(Caller& caller, VirtualAddress start, u64 length, bool locked);
  Result<void> set_all_locked(Caller& caller, bool locked);
  // Bytes of [start, end) that are locked.
  [[nodiscard]] u64 locked_bytes(VirtualAddress start = {}, VirtualAddress end = {user_end}) EXCLUDES(lock_);
  // Areas that are made from now on are locked (MCL_FUTURE). Not inherited by fork.
  [[nodiscard]] bool locks_new() const { return locks_new_.load(Order::relaxed); }
  void lock_new(bool wanted) { locks_new_.store(wanted, Order::relaxed); }
  // A copy-on-write child. The parent's writable private pages become read-only on every core first; but the page of
  // `kept` (0: none) stays as it is, and the child gets a copy of it at once: so a prepared word stays prepared.
  Result<Ref<AddressSpace>> fork(Caller& caller, VirtualAddress kept = {});
  // What map() checks of length and place before anything else: einval, enomem, eperm.
  static Result<void> check_place(const MapRequest& request);

  // A fault of the calling thread. ok: try the access again. blocked. efault: nothing is mapped there; eacces: not with
  // this right (both SIGSEGV); eio: beyond the end of a file (SIGBUS); enomem: the process cannot go on.
  Result<void> handle_fault(Caller& caller, VirtualAddress address, Access access);
  // The same for a program, which tries again by itself: a large page may only have got nearer, so that the core does other
  // things between.
  Result<void> handle_fault_in_parts(Caller& caller, VirtualAddress address, Access access);

  // ---- kernel access to user memory ------------------------------------------------------------------------------
  // A kernel pointer to the user byte at `address`, good until the end of its page and of this step; faults the page in as
  // the program's own access would. efault, enomem, blocked.
  Result<u8*> resolve(Caller& caller, VirtualAddress address, Access access);
  // The same pointer if nothing has to be done for it; null: ask resolve(). Not for Access::execute.
  u8* reach(VirtualAddress address, Access access) {
    join_active();
    return table_.reach(address, access == Access::write);
  }

  // For who traces the program: the bytes of [at, at + size) whatever the program itself may do with them. A page of a private mapping
  // that the program may not write is first made its own, as by a write of the program; it may not write it after that either. efault:
  // nothing is mapped, or shared without the right to write; what came before that has been moved. enomem, blocked.
  Result<void> read_by_force(Caller& caller, VirtualAddress at, std::span<u8> to);
  Result<void> write_by_force(Caller& caller, VirtualAddress at, std::span<const u8> from);

  // ---- the calling core loads and leaves it ------------------------------------------------------------------------
  // Own core, interrupts off. A core keeps a reference to the space that it uses.
  void activate();
  // Before idling: this core uses no address space until the next activate(), and is not asked to drop translations.
  static void rest();
  static void activate_kernel_only();  // the same, and its table is let go of (when a thread has ended)

  // The address space that was made first after the one with this number (0: of all), as long as it has users; null. A fork's child
  // has a higher number than its parent.
  static Ref<AddressSpace> made_after(u64 number);
  // The backing of the first shared mapping in [start, end), and where that one ends; null: there is none.
  Ref<Backing> shared_backing(VirtualAddress start, VirtualAddress end, VirtualAddress& next) EXCLUDES(lock_);
  TreeLink by_number;  // the list's

  // What maps [start, end) again as it is, when all of it is shared and of one backing, whichever its pages; einval.
  Result<MapRequest> shared_mapping(VirtualAddress start, VirtualAddress end) EXCLUDES(lock_);

  [[nodiscard]] Usage usage() EXCLUDES(lock_);
  // Calls visit for each area in order, for /proc/[pid]/maps. Under lock_.
  void for_each_area(void (*visit)(void* context, const Area& area), void* context) EXCLUDES(lock_);
  // Calls visit for the first area that ends above `from`, which moves to its end, with what is in memory of it; false: there is none.
  // One area at a time, since its pages are looked at one by one under lock_.
  bool visit_area_with_pages(VirtualAddress& from, void (*visit)(void* context, const Area& area, const PageCounts& pages),
                             void* context) EXCLUDES(lock_);
  // On mapped bytes (RLIMIT_AS) and on those that are writable and private (RLIMIT_DATA): enomem beyond. On an area that grows by itself
  // (RLIMIT_STACK): it does not grow further.
  struct Limits {
    u64 bytes = ~u64{0}, data = ~u64{0}, stack = ~u64{0};
  };
  void set_limits(const Limits& limits) {
    limit_.store(limits.bytes, Order::relaxed);
    data_limit_.store(limits.data, Order::relaxed);
    stack_limit_.store(limits.stack, Order::relaxed);
  }
  // Every page of [start, end) lies in an area.
  [[nodiscard]] bool covers(VirtualAddress start, VirtualAddress end) EXCLUDES(lock_);
  // The page that is mapped at `page` now, with a reference: how another process reads this one's memory. efault: none; or the program
  // has closed it (PROT_NONE), unless those are wanted, too.
  enum class Closed : u8 { not_wanted, wanted };
  Result<Frame*> hold_page(VirtualAddress page, Closed closed = Closed::not_wanted) EXCLUDES(lock_);
  // `from` moves to the first page of [from, `to`) that is in memory, closed or not: true. False: as far as there is none, after a look
  // that is short however large the range is.
  bool find_page(VirtualAddress& from, VirtualAddress to) EXCLUDES(lock_);
  // The state of each page from `start` (page aligned) on: a few dozen at a time.
  void page_states(VirtualAddress start, std::span<PageState> pages) EXCLUDES(lock_);
  // What is mapped at `page` belongs to its area's backing, not to the program alone; false also when nothing is.
  [[nodiscard]] bool shows_backing(VirtualAddress page) EXCLUDES(lock_);
  // One byte for each page from `start` (page aligned) on: 1 when it is in memory. enomem: part of it is in no area.
  Result<void> residency(VirtualAddress start, std::span<u8> pages) EXCLUDES(lock_);

  // ---- access sampling (access_sampling.cpp): the calling core uses this space --------------------------------------------
  // From now on it is noted which pages are touched: of a part of the space, the next one each time round, of bounded size. Only
  // one round at a time: false while another core has one, unless that was forgotten.
  bool begin_access_round(AccessRound& round, Instant now) EXCLUDES(lock_);
  // Pages that were touched since, on this core above all (docs/counters.md), as an estimate for the whole space. False: the round
  // was given to another core meanwhile. Either way it is over.
  bool end_access_round(AccessRound& round, u64& pages) EXCLUDES(lock_);

  // The address lies in a mapping that processes share. False also where nothing is mapped.
  [[nodiscard]] bool is_shared(VirtualAddress address) EXCLUDES(lock_);
  // Grows before any page is taken away or replaced: who finds it unchanged may still use a pointer from resolve().
  [[nodiscard]] u64 changes_begun() const { return changes_begun_.load(Order::seq_cst); }

  // ---- for vm/ itself: CoreTranslation, TranslationDrop ----
  [[nodiscard]] AtomicCoreSet& active() { return active_; }
  [[nodiscard]] Atomic<u64>& generation() { return generation_; }
  [[nodiscard]] TableHolder& tables() { return *tables_; }
  [[nodiscard]] u64 number() const { return number_; }

 private:
  // What a fault needs before it can be settled under the lock; made outside it.
  struct Supply;
  enum class Settled : u8 {
    done,
    wants_zeroed_page,
    wants_page,
    wants_backing_page,
    wants_write_notice,
    wait_for_cores,
    wait_for_change
  };

  explicit AddressSpace(Ref<TableHolder> tables);

  // Changes something of each area in the range that the page table does not show.
  template <class Change>
  Result<void> advise(Caller& caller, VirtualAddress start, u64 length, bool all_or_nothing, Change&& change);
  Result<u8*> fault_in(Caller& caller, VirtualAddress address, Access access);
  // What a call answers where the program itself would get a signal.
  static Errno of_kernel_access(Errno error) { return error == Errno::eio || error == Errno::eacces ? Errno::efault : error; }

  // ---- faults (faults.cpp) ----
  // The two usual faults, settled in one look: the first touch of anonymous memory, and a write to a page that is not shared
  // any more.
  enum class AtOnce : u8 {
    done,
    preparing,  // a large page: ask again
    look_closely,
  };
  AtOnce settle_at_once(VirtualAddress page, Access access) EXCLUDES(lock_);
  AtOnce look_once(VirtualAddress page, Access access, bool may_be_large) EXCLUDES(lock_);
  AtOnce touch_first(const Area& area, VirtualAddress page, Access access, bool may_be_large) REQUIRES(lock_);
  void map_neighbours(const Area& area, VirtualAddress page, Supply& supply) REQUIRES(lock_);
  // ---- growth.cpp ----
  // `page` is in no area: the area above it, if it grows down to there; null. Not while those addresses are being changed.
  Area* grow_down(VirtualAddress page) REQUIRES(lock_);
  // It may grow when a change that is under way is over.
  [[nodiscard]] bool waits_to_grow(const Caller& caller, VirtualAddress page) REQUIRES(lock_);
  Result<VirtualAddress> start_of_growing(VirtualAddress start, VirtualAddress end) REQUIRES(lock_);
  [[nodiscard]] bool may_grow(const Area& area, VirtualAddress page) REQUIRES(lock_);
  void begin_unsettled(VirtualAddress start, VirtualAddress end) REQUIRES(lock_) {
    unsettled_start_ = start;
    unsettled_end_ = end;
  }
  // What a page is wanted for: an access that the area allows, or not (force); to be there, as far as nothing has to be waited for.
  enum class Purpose : u8 { access, presence, force };
  Result<void> settle_fault(Caller& caller, VirtualAddress page, Access access, Purpose purpose);
  Result<Settled> try_to_settle(Caller& caller, VirtualAddress page, Access access, Supply& supply) REQUIRES(lock_);
  Result<Settled> map_missing(Area& area, VirtualAddress page, Access access, Supply& supply) REQUIRES(lock_);
  Result<Settled> break_sharing(Caller& caller, Area& area, VirtualAddress page, Frame& shared, Supply& supply) REQUIRES(lock_);
  Settled wait_for_change(Caller& caller) REQUIRES(lock_);
  // The page is to become writable in a shared mapping whose backing has not been told yet.
  [[nodiscard]] static bool must_tell(const Area& area, u64 index, Access access, Supply& supply);
  [[nodiscard]] bool being_broken(VirtualAddress page) REQUIRES(lock_);
  static void finish_break(TranslationDrop& drop);
  void populate(Caller& caller, VirtualAddress start, VirtualAddress end, Access access);
  // A core that looks at an address space which it does not use joins its active set, so that no page goes away before it has
  // answered; it leaves with the first request that it forget something.
  void join_active() {
    const CoreId core = this_core().id();
    if (!active_.contains(core, Order::relaxed)) active_.add(core, Order::seq_cst);
  }

  // ---- access by force (forced_access.cpp) ----
  [[nodiscard]] static bool may_be_forced(const Area& area, Access access) { return !area.shared || access == Access::read; }
  // Calls use(pointer to the byte at `at`), good until the end of its page. The first: under lock_, or false: the page has to be
  // got first.
  template <class Use>
  bool use_at_once(VirtualAddress at, Access access, Use&& use) EXCLUDES(lock_);
  template <class Use>
  Result<void> force_page(Caller& caller, VirtualAddress at, Access access, Use&& use);
  [[nodiscard]] bool is_own_page(VirtualAddress page, const arch::Translation& found) REQUIRES(lock_);

  // ---- large pages (large_pages.cpp). Each lies inside one area: who cuts areas splits what lies across the cut. ----
  // A large page fits round `page`, and nothing is mapped there yet.
  [[nodiscard]] bool fits_large(const Area& area, VirtualAddress page) REQUIRES(lock_);
  // The private large page round `page` belongs to this space alone, and may be written from now on; false: others share it.
  bool take_over_large(const Area& area, VirtualAddress page, const arch::Translation& found) REQUIRES(lock_);
  // Splits large pages that lie across a border, and then cuts the areas there. enomem.
  Result<void> isolate(VirtualAddress start, VirtualAddress end) REQUIRES(lock_);
  // Before pages move: splits those which cannot move as a whole. enomem.
  Result<void> split_for_move(VirtualAddress from, VirtualAddress to, u64 length) REQUIRES(lock_);

  // ---- changes (change.cpp): one at a time, see Caller ----
  // False: the step answers blocked.
  bool enter(Caller& caller) EXCLUDES(lock_);
  void leave(Caller& caller) EXCLUDES(lock_);
  // The operation ends with this error; blocked: it does not end.
  Errno give_up(Caller& caller, Errno error) EXCLUDES(lock_);
  // Makes every core forget caller.drop's range, then releases its pages. False: the step answers blocked, and calls this
  // again when it runs again.
  bool drop_everywhere(Caller& caller) EXCLUDES(lock_);
  // Takes the pages from caller.next to `end` out of the table and releases them once no core can reach them. blocked.
  Result<void> take_out_pages(Caller& caller, VirtualAddress end) EXCLUDES(lock_);
  // The areas of the range as well, which end up in caller.removed. blocked; enomem: nothing was changed.
  Result<void> take_out(Caller& caller, VirtualAddress start, VirtualAddress end) EXCLUDES(lock_);
  void begin_replacing(VirtualAddress start, VirtualAddress end) EXCLUDES(lock_);
  void end_replacing() REQUIRES(lock_);

  // ---- map.cpp, protect.cpp, remap.cpp, fork.cpp ----
  Result<void> prepare_area(Caller& caller, const MapRequest& request);
  Result<void> place_area(Area& area, u64 note) REQUIRES(lock_);
  // `bytes` more, `replaced` of them in place of others, may be mapped; with `reserve` not far more than memory has.
  Result<void> check_growth(u64 bytes, u64 replaced, bool reserve) REQUIRES(lock_);
  Result<VirtualAddress> break_in_force(Caller& caller) EXCLUDES(lock_);
  bool grow_break(VirtualAddress from, VirtualAddress to) REQUIRES(lock_);
  Result<void> change_protection(Caller& caller, VirtualAddress start, VirtualAddress end, Protection protection)
      REQUIRES(lock_);
  Result<void> check_remap(const RemapRequest& request) REQUIRES(lock_);
  [[nodiscard]] PageCounts count_pages(const Area& area) REQUIRES(lock_);
  // What is mapped there belongs to the program, not to the area's backing.
  [[nodiscard]] static bool is_anonymous(const Area& area, const arch::Translation& found);
  void note_page_states(const Area& area, VirtualAddress start, std::span<PageState> pages) REQUIRES(lock_);
  // Lets the area grow where it is, or moves it; answers where it is now, also in caller.note.
  Result<void> resize_area(Caller& caller, const RemapRequest& request, u64 old_length, u64 new_length) REQUIRES(lock_);
  Result<void> move_pages(Caller& caller, VirtualAddress from, VirtualAddress to, u64 length) REQUIRES(lock_);
  Result<void> copy_area(AddressSpace& child, Caller& caller, const Area& area, VirtualAddress kept) REQUIRES(lock_);
  Result<void> copy_into(AddressSpace& child, Caller& caller, VirtualAddress kept) EXCLUDES(lock_);
  void end_copying() REQUIRES(lock_);
  void start_as_copy_of(VirtualAddress break_start, VirtualAddress brk, VirtualAddress ceiling);

  // Translations were taken out of the table: begins a new generation, which this core is told of by the caller; answers
  // the other cores that must be asked.
  CoreSet begin_generation(u64& generation);

  [[nodiscard]] static arch::Rights rights_of(const Area& area);
  [[nodiscard]] static bool permits(const Area& area, Access access);
  [[nodiscard]] static bool permits(const arch::Rights& rights, Access access);

  const u64 number_;  // never used again
  const Ref<TableHolder> tables_;
  arch::PageTable& table_;  // of tables_; changed under lock_, looked up without it
  AtomicCoreSet active_;  // cores that may use translations or resolved pages; each adds and removes itself
  Atomic<u64> generation_{1};  // one more each time that translations are taken away; see vm/core_translation.cpp
  Atomic<u64> limit_{~u64{0}};
  Atomic<u64> data_limit_{~u64{0}};
  Atomic<u64> stack_limit_{~u64{0}};
  Atomic<bool> locks_new_{false};
  Atomic<u64> changes_begun_{0};

  SpinLock lock_{Rank::address_space, "address space"};
  AreaSet areas_ GUARDED_BY(lock_){VirtualAddress{lowest_address}, mapping_ceiling(0)};
  StepMutex changes_{lock_};  // held across waits by the operation that changes areas or takes rights away
  // Pages whose sharing is being broken while other cores still drop the old translation: read-only until then.
  IntrusiveList<TranslationDrop, &TranslationDrop::break_link> breaks_ GUARDED_BY(lock_);
  bool copying_ GUARDED_BY(lock_) = false;  // a fork is under way: no page may appear or become writable
  // [start, end) is being replaced by another area: faults there wait instead of finding nothing.
  VirtualAddress replaced_start_ GUARDED_BY(lock_){};
  VirtualAddress replaced_end_ GUARDED_BY(lock_){};
  // The operation that holds changes_ gives [start, end) to an area, or has taken one from there whose pages may not all be gone: no
  // area grows into it.
  VirtualAddress unsettled_start_ GUARDED_BY(lock_){};
  VirtualAddress unsettled_end_ GUARDED_BY(lock_){};
  WaitQueue settled_{lock_};  // faults that wait for the end of a break, a fork, a replacement or a change; they look again
  u64 resident_ GUARDED_BY(lock_) = 0;  // mapped pages
  u64 peak_ GUARDED_BY(lock_) = 0;  // the most of them, before some were taken out
  // Access sampling: the round under way or the last one, since when (never: it is over), and where the next one begins.
  u64 access_round_ GUARDED_BY(lock_) = 0;
  Instant access_round_since_ GUARDED_BY(lock_) = never;
  VirtualAddress access_cursor_ GUARDED_BY(lock_){};
  [[nodiscard]] u64 data_bytes() REQUIRES(lock_);
  VirtualAddress break_start_ GUARDED_BY(lock_){};
  VirtualAddress break_ GUARDED_BY(lock_){};
};

void initialise();  // boot context, before the first address space is loaded

// ---- copies between kernel and user memory; blocked is passed on (run the step again) -----------------------------------
// All or nothing where it says "prepared": efault before anything has been changed.
Result<void> copy_in(AddressSpace& space, Caller& caller, void* to, VirtualAddress from, u64 size);
Result<void> copy_out(AddressSpace& space, Caller& caller, VirtualAddress to, const void* from, u64 size);
// Makes [start, start+size) accessible (faults everything in), so that copies in this step cannot block or fail: writes, whatever
// other threads do meanwhile, to the first pages that a step prepares (PreparedPages). At most 1 MiB at a time. efault …
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
