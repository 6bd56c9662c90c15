// What threads do to the machine, in numbers: the one interface between whoever can count (the processor, an emulator, the page
// tables) and the policies that go by it (docs/counters.md). Pure.
//
// A CounterSource tells what a thread did in a stretch of its time on a core: Counts. They are kept decayed, as ResourceUse, in
// the entity and in what its core publishes, as the recent use is.
#pragma once

#include "lib/enum_set.h"
#include "lib/types.h"

namespace corral::sched {

struct SchedulingEntity;

enum class Figure : u8 {
  instructions,  // retired
  cycles,  // of the core's clock, while it did not sleep
  accesses,  // to the cache that the source watches
  refills,  // lines of 64 bytes that this cache had to fetch
  l2_refills,  // of those, lines that the next cache, which cores share, had to fetch as well
  snoops,  // accesses for which another core had to give up a line, or its right to write it
  pages,  // of 4 KiB, touched in the stretch
};
inline constexpr u32 figures = 7;
[[nodiscard]] const char* name_of(Figure figure);

using FigureSet = EnumSet<Figure>;

// Of one stretch; what is not in `known` was not counted, and is 0.
struct Counts {
  FigureSet known;
  u64 value[figures] = {};
  u64 in_kernel[figures] = {};  // of these, in kernel mode: of what the source tells_modes_apart()

  [[nodiscard]] constexpr u64 of(Figure figure) const { return value[static_cast<u32>(figure)]; }
  constexpr void set(Figure figure, u64 number) {
    value[static_cast<u32>(figure)] = number;
    known.add(figure);
  }
};

// What policies go by: how much memory a thread uses, and how far it waits for memory rather than computes. One word, so that
// other cores may read it while its owner writes.
class ResourceUse {
 public:
  static constexpr u32 whole = 1024;
  static constexpr u32 most_pages = (u32{1} << 20) - 1;
  // A thread with so many refills in so many instructions waits for memory all the time.
  static constexpr u64 instructions_for_a_refill = 16;
  // Where there are no refills, a working set of so many pages counts as half memory-bound: a core's own cache of 256 KiB.
  static constexpr u64 pages_of_a_cache = 64;

  constexpr ResourceUse() = default;
  // pages: 0 … most_pages, more counts as that; memory_bound: 0 … whole.
  constexpr ResourceUse(u64 pages, u32 memory_bound)
      : word_{static_cast<u32>(pages < most_pages ? pages : most_pages) << pages_shift | memory_bound << 1 | 1} {}
  // Of one stretch; unknown when `counts` says neither what was touched nor what was refilled.
  [[nodiscard]] static ResourceUse of(const Counts& counts);

  [[nodiscard]] constexpr bool known() const { return (word_ & 1) != 0; }
  [[nodiscard]] constexpr u32 pages() const { return word_ >> pages_shift; }  // the working set; 0 while unknown
  // 0: it computes; whole: it waits for memory. 0 while unknown.
  [[nodiscard]] constexpr u32 memory_bound() const { return (word_ >> 1) & (2 * whole - 1); }
  // memory_bound() is whole / 2 or more, of which there are two bits.
  [[nodiscard]] constexpr bool is_memory_bound() const { return (word_ & (whole | whole / 2) << 1) != 0; }

  // The average of this and a newer one that counts `weight` of `whole`. The first one that is known counts alone; one that is
  // unknown does not count.
  [[nodiscard]] ResourceUse with(ResourceUse newer, u32 weight) const;
  // What the last stretch of a thread weighs in its own average.
  static constexpr u32 of_a_stretch = whole / 4;
  // What a thread that ran for `time` weighs in the average of its core: half after 34 ms, as with the recent use.
  [[nodiscard]] static u32 weight_of(Duration time);

  // For records of what a policy saw.
  [[nodiscard]] constexpr u32 word() const { return word_; }
  [[nodiscard]] static constexpr ResourceUse from_word(u32 word) {
    ResourceUse use;
    use.word_ = word;
    return use;
  }

 private:
  static constexpr u32 pages_shift = 12;
  u32 word_ = 0;  // pages << 12 | memory_bound << 1 | known
};

// Who counts. Stretches of one core follow one another: begin(), any number of look(), end(), begin() …; but when counting is
// switched off and on, a begin() may follow a begin().
class CounterSource {
 public:
  [[nodiscard]] virtual const char* name() const = 0;  // as in the boot option counters=
  [[nodiscard]] virtual const char* description() const = 0;  // one line for people
  [[nodiscard]] virtual FigureSet counts() const = 0;
  [[nodiscard]] virtual FigureSet tells_modes_apart() const { return {}; }  // user and kernel mode, of these figures
  // Boot context, once: why it cannot be used on this machine; null: it can.
  [[nodiscard]] virtual const char* find_out() = 0;

  // ---- the core itself, interrupts off, no lock held ---------------------------------------------------------------------
  // `entity` runs on the core from now on.
  virtual void begin(SchedulingEntity& entity, Instant now) = 0;
  // What it did since begin(), or since the last look(): it goes on.
  virtual Counts look(SchedulingEntity& entity, Instant now) = 0;
  // The same, and it leaves the core.
  virtual Counts end(SchedulingEntity& entity, Instant now) = 0;

 protected:
  ~CounterSource() = default;
};

}  // namespace corral::sched
