// A tree of translation tables (x86-64: four levels; leaves of 4 KiB and of 2 MiB for users). Knows entries, not policies: who may
// map what where is vm/'s business. Not synchronised: AddressSpace's lock protects all changes; lookup() may run
// without it (a table page is freed only after every core that may walk it has answered; see vm/address_space.h).
#pragma once

#include "lib/result.h"
#include "lib/types.h"

namespace corral::arch {

struct Rights {
  bool write = false;
  bool execute = false;
  bool user = false;
  bool device = false;  // uncached
  bool picture = false;  // of a device, but writes may be gathered and come late (write combining): a framebuffer
  bool operator==(const Rights&) const = default;
};

struct Translation {
  PhysicalAddress frame;
  Rights rights;
  bool large = false;  // of 2 MiB, aligned in both kinds of addresses
};
inline constexpr u64 large_page = u64{2} << 20;

// What a table has at one place.
enum class Held : u8 { page, large_page, table };

inline constexpr u64 user_space_end = 0x0000'7fff'ffff'f000;  // first address that no user mapping reaches
inline constexpr u64 direct_map_base = 0xffff'8000'0000'0000;  // all physical memory, not executable
inline constexpr u64 kernel_area_base = 0xffff'c000'0000'0000;  // stacks with guard pages, device windows
inline constexpr u64 kernel_area_end = 0xffff'd000'0000'0000;
inline constexpr u64 kernel_image_base = 0xffff'ffff'8000'0000;

// Kernel address of physical memory.
template <class T = u8>
[[nodiscard]] T* direct(PhysicalAddress address) {
  return reinterpret_cast<T*>(direct_map_base + address.value);
}
[[nodiscard]] inline PhysicalAddress physical_of_direct(const void* pointer) {
  return {reinterpret_cast<u64>(pointer) - direct_map_base};
}

// Whether all of these bytes can be reached through direct(): a table that firmware points at may be anywhere.
[[nodiscard]] bool direct_map_covers(PhysicalAddress address, u64 size);

class PageTable {
 public:
  // An empty user half under the shared kernel half. enomem.
  static Result<PageTable> create();
  PageTable() = default;
  explicit PageTable(PhysicalAddress root) : root_{root} {}
  [[nodiscard]] PhysicalAddress root() const { return root_; }

  // Maps one page; table pages are allocated as needed (enomem: nothing changed). Replaces what was there; einval: a large
  // page is there.
  Result<void> map(VirtualAddress page, PhysicalAddress frame, Rights rights);
  // Maps a large page at an aligned place where room_for_large(). enomem: nothing changed; eexist: no room.
  Result<void> map_large(VirtualAddress start, PhysicalAddress frame, Rights rights);
  // Neither a large page nor a table of small ones is at this aligned place.
  [[nodiscard]] bool room_for_large(VirtualAddress start) const;
  // If `page` lies in a large page, that becomes 512 small ones with the same rights, each with a reference of its own
  // (memory/large_page.h). Translations that cores have stay right. enomem: nothing changed.
  Result<void> split(VirtualAddress page);
  // Takes one page out and returns what it was; nothing → false. Does not flush any TLB. A large one: all of it.
  bool unmap(VirtualAddress page, Translation& was);
  // Changes the rights of one mapped page, or of the large page that it lies in; false when nothing is mapped there.
  bool protect(VirtualAddress page, Rights rights);
  // Safe without the lock. False when nothing is mapped. In a large page, the frame is that of the small part.
  [[nodiscard]] bool lookup(VirtualAddress page, Translation& found) const;
  // The kernel's pointer to what users reach at `address`, for reading or also for writing; null when they may not. Safe
  // without the lock. How every system call reaches the program's memory, so it does nothing else.
  [[nodiscard]] u8* reach(VirtualAddress address, bool write) const;
  // Calls visit(page, translation) for every mapped user page in [from, to), skipping empty tables quickly; once for a large
  // one, with its first address, which may lie below `from`.
  // The visitor may change or remove the entry that it is given.
  using Visitor = void (*)(void* context, VirtualAddress page, const Translation& translation);
  void for_each(VirtualAddress from, VirtualAddress to, Visitor visit, void* context) const;
  // The first mapped page of [from, to), whatever its rights; or as far as `most_tables` steps from table to table have got. Parts without
  // tables are one step, however large they are.
  struct Sought {
    VirtualAddress at;  // not below `from`; `to`: there is none
    bool found = false;
  };
  [[nodiscard]] Sought find_page(VirtualAddress from, VirtualAddress to, u32 most_tables) const;
  // Takes mapped pages of [from, to) out of the table, in order, as long as `take` agrees; answers where it stopped. Does not
  // flush any TLB. Neither border lies inside a large page. A table that all lies in there goes as well, after its pages:
  // when no core can walk it any more, keep_table() is to have it.
  using Taker = bool (*)(void* context, VirtualAddress page, PhysicalAddress frame, Held held);
  VirtualAddress take_out(VirtualAddress from, VirtualAddress to, Taker take, void* context);
  // An empty table that was taken out, for use in this tree again: a core that rests may still have this tree loaded and
  // walk there for no reason, so it does not become anything else.
  void keep_table(PhysicalAddress table);
  // Maps in `child`, where nothing is mapped yet, what is mapped here in [from, to), with a reference to each page, for reading
  // only on both sides. enomem: as far as `copied` says. Neither border lies inside a large page.
  struct Copied {
    u64 pages = 0;  // small ones, and 512 for each large one
    VirtualAddress first_lost{}, end_lost{};  // where pages could be written until now
  };
  Result<void> copy_for_reading(PageTable& child, VirtualAddress from, VirtualAddress to, Copied& copied);
  // Clears what the processor notes when a page is touched, of at most `most` entries (a large page is one) of [from, to); answers
  // of how many, and where the next one would be: `to` when there is none. Flushes no TLB; a core that has the translation in its
  // TLB does not note anything until it is flushed there.
  struct Cleared {
    VirtualAddress next;
    u32 entries;
  };
  Cleared clear_touched(VirtualAddress from, VirtualAddress to, u32 most);
  // Pages of [from, to), 512 for each large one, and those that were touched since.
  struct Touched {
    u64 pages = 0, touched = 0;
  };
  [[nodiscard]] Touched count_touched(VirtualAddress from, VirtualAddress to) const;
  // Drops the reference of each mapped page. Nobody uses the table any more, though a core may have it loaded.
  void release_pages();
  // Takes the table pages of the user half out of the tree, without looking at leaves, and gives them to
  // `release(context, frame)`. No core may have this table loaded.
  void destroy(void (*release)(void* context, PhysicalAddress table), void* context);
  // Number of table pages below the root (for accounting).
  [[nodiscard]] u64 table_pages() const;

 private:
  Result<u64*> make_place(VirtualAddress page, u32 level);
  Result<PhysicalAddress> new_table();

  PhysicalAddress root_{};
  PhysicalAddress kept_{};  // tables that are not used now: each one's first word is the address of the next
};

// ---- the calling core's translation state ----------------------------------------------------------------------
// Loads `table`. `asid` is this core's address-space id for it, 1 … asid_count() - 1 (0 when the processor has none; id 0
// is the kernel's own table's); `keep` says that the entries of that id in the TLB are still right.
void load_page_table(const PageTable& table, u16 asid, bool keep);
void load_kernel_page_table();  // no user half at all
[[nodiscard]] u16 asid_count();  // how many address-space ids a core has; 1: none
void flush_page(VirtualAddress page);  // in the loaded address space, this core only
void flush_user_all();  // the loaded address space, this core only
void flush_asid(u16 asid);  // an id that is not loaded, this core only

// Maps a device's registers, uncached, not executable; never unmapped. Boot context or with the kernel-map lock inside.
Result<volatile u8*> map_device(PhysicalAddress address, u64 size);
// The same for a picture that is only written to: not cached either, but the processor may gather writes.
Result<volatile u8*> map_framebuffer(PhysicalAddress address, u64 size);
// A kernel stack of `pages` pages with an unmapped guard page below; returns its top. enomem.
Result<VirtualAddress> map_kernel_stack(u32 pages);
// Gives the guard page's owner: true when `address` lies in a guard page of a stack made above.
[[nodiscard]] bool is_stack_guard(VirtualAddress address);

// A run of mapped kernel pages next to one another with the same rights, as the processor grants them.
struct KernelRange {
  VirtualAddress from;
  u64 size;  // bytes
  Rights rights;
};
// Calls visit(range) for everything that is mapped in the kernel half, from the lowest address upwards.
using KernelRangeVisitor = void (*)(void* context, const KernelRange& range);
void for_each_kernel_range(KernelRangeVisitor visit, void* context);

// Walks all kernel mappings: number of pages that are writable and executable (must be 0), and of those that users
// can reach (must be 0).
struct KernelMapAudit {
  u64 pages, writable_executable, user_accessible;
};
[[nodiscard]] KernelMapAudit audit_kernel_map();

}  // namespace corral::arch
