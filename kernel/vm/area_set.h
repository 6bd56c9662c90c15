// The areas of an address space, ordered by address: never overlapping, neighbours that could be one are one.
//
// Pure: knows no page table and no lock (its owner has one). Allocates only areas (operator new, nothrow), and only in
// isolate(). Finding room is amortised: the set remembers where its last search from the top ended and what it passed.
#pragma once

#include "lib/result.h"
#include "lib/setting.h"
#include "vm/area.h"

namespace corral::vm {

class AreaSet {
 public:
  static inline constinit Setting most_areas{65530, 0, 0x7fff'ffff};  // as Linux's vm.max_map_count

  // What an area that grows down keeps between itself and what is put below it (as Linux's stack_guard_gap).
  static constexpr u64 growth_gap = 256 * page_size;

  // Room is looked for in [floor, ceiling); both page aligned.
  constexpr AreaSet(VirtualAddress floor, VirtualAddress ceiling)
      : floor_{floor.value}, ceiling_{ceiling.value}, search_from_{ceiling.value} {}
  ~AreaSet() { release_chain(take_all()); }
  // Before there is any area.
  void set_ceiling(VirtualAddress ceiling) { ceiling_ = search_from_ = ceiling.value; }
  [[nodiscard]] VirtualAddress ceiling() const { return {ceiling_}; }
  AreaSet(const AreaSet&) = delete;
  AreaSet& operator=(const AreaSet&) = delete;

  [[nodiscard]] u32 count() const { return count_; }
  [[nodiscard]] u64 mapped_bytes() const { return mapped_bytes_; }
  [[nodiscard]] u64 peak_bytes() const { return mapped_bytes_ > peak_bytes_ ? mapped_bytes_ : peak_bytes_; }  // the most so far
  [[nodiscard]] Area* first() const { return areas_.first(); }
  [[nodiscard]] Area* next(const Area& area) const { return areas_.next(area); }
  [[nodiscard]] Area* previous(const Area& area) const { return areas_.previous(area); }

  // The area that contains the address; null.
  [[nodiscard]] Area* find(VirtualAddress address) const;
  // The first area that ends above the address; null.
  [[nodiscard]] Area* first_above(VirtualAddress address) const;
  // No area has a byte in [start, end).
  [[nodiscard]] bool is_free(VirtualAddress start, VirtualAddress end) const;
  // The same, and it is not in what the next area above keeps free to grow.
  [[nodiscard]] bool has_room(VirtualAddress start, VirtualAddress end) const;
  // The first address in [start, end) that no area contains; `end` when all are covered.
  [[nodiscard]] VirtualAddress covered_until(VirtualAddress start, VirtualAddress end) const;
  // Bytes of [start, end) that areas cover.
  [[nodiscard]] u64 covered_bytes(VirtualAddress start, VirtualAddress end) const;

  // The highest free range of `length` bytes (page aligned, > 0) below the ceiling, or below `limit` if that is lower;
  // false when there is none. An area is to be put there before the next search.
  [[nodiscard]] bool find_room(u64 length, VirtualAddress limit, VirtualAddress& start);

  // Cuts areas so that none reaches across `start` or `end`. enomem: nothing was changed (memory, or too many areas).
  Result<void> isolate(VirtualAddress start, VirtualAddress end);
  // Puts an area in; its range must be free. It belongs to the set now, and may be joined with its neighbours (and be gone).
  void insert(Area& area);
  // Takes out all areas of [start, end), which isolate() has cut; the answer is a chain by `following` (null: none).
  [[nodiscard]] Area* take(VirtualAddress start, VirtualAddress end);
  [[nodiscard]] Area* take_all() { return take(VirtualAddress{0}, VirtualAddress{~u64{0}}); }
  // Joins neighbours in and around [start, end) that have become alike.
  void join(VirtualAddress start, VirtualAddress end);
  // Lets an area grow at its end into free addresses, and joins it with its neighbour. `area` may be gone afterwards.
  void extend(Area& area, VirtualAddress new_end);
  // The same at its start, for an area that grows down; answers the area there is then, `area` or the one below.
  Area& extend_down(Area& area, VirtualAddress new_start);

  static void release_chain(Area* chain);

  // Checks every rule above; for tests.
  [[nodiscard]] bool valid() const;

 private:
  struct ByStart {
    bool operator()(const Area& a, const Area& b) const { return a.start < b.start; }
  };
  // Where what may be put below it has to end.
  [[nodiscard]] static u64 room_end(const Area& area) {
    const u64 start = area.start.value;
    return !area.grows_down ? start : start - (start < growth_gap ? start : growth_gap);
  }
  [[nodiscard]] static bool joinable(const Area& lower, const Area& upper);
  // Joins `upper` into `lower` when they can be one.
  bool try_join(Area& lower, Area& upper);
  [[nodiscard]] Area* last_below(u64 address) const;
  // Downwards from `top`; `passed` becomes at least the length of every free range that was too short.
  [[nodiscard]] bool search(u64 length, u64 top, u64& passed, VirtualAddress& start) const;
  void cut(Area& area, VirtualAddress at, Area& upper);
  void freed(VirtualAddress start, VirtualAddress end);

  RedBlackTree<Area, &Area::link, ByStart> areas_;
  u64 mapped_bytes_ = 0;
  u64 peak_bytes_ = 0;  // before some were taken out
  u32 count_ = 0;
  u64 floor_, ceiling_;
  // Every free range between search_from_ and ceiling_ is at most largest_passed_ bytes long.
  u64 search_from_;
  u64 largest_passed_ = 0;
};

}  // namespace corral::vm
