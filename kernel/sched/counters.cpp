#include "sched/counters.h"

namespace corral::sched {

namespace {

// Towards `newer`, rounded so that the average gets there.
u32 average(u32 older, u32 newer, u32 weight) {
  const i64 way = (i64{newer} - older) * weight;
  const i64 rounding = way < 0 ? -i64{ResourceUse::whole - 1} : i64{ResourceUse::whole - 1};
  return static_cast<u32>(older + (way + rounding) / ResourceUse::whole);
}

}  // namespace

const char* name_of(Figure figure) {
  switch (figure) {
    case Figure::instructions: return "instructions";
    case Figure::cycles: return "cycles";
    case Figure::accesses: return "accesses";
    case Figure::refills: return "refills";
    case Figure::l2_refills: return "l2_refills";
    case Figure::snoops: return "snoops";
    case Figure::pages: return "pages";
  }
  return "?";
}

ResourceUse ResourceUse::of(const Counts& counts) {
  constexpr u64 lines_of_a_page = page_size / 64;
  const bool has_pages = counts.known.has(Figure::pages);
  const bool has_refills = counts.known.has(Figure::refills);
  if (!has_pages && !has_refills) return {};
  const u64 refills = counts.of(Figure::refills);
  // Without a look at pages: what was brought into the cache.
  const u64 pages = has_pages ? counts.of(Figure::pages) : (refills + lines_of_a_page - 1) / lines_of_a_page;
  const u64 instructions = counts.of(Figure::instructions);
  if (has_refills && instructions != 0) {
    if (refills >= instructions / instructions_for_a_refill) return {pages, refills == 0 ? 0 : whole};
    return {pages, static_cast<u32>(refills * instructions_for_a_refill * whole / instructions)};
  }
  return {pages, static_cast<u32>(pages * whole / (pages + pages_of_a_cache))};
}

ResourceUse ResourceUse::with(ResourceUse newer, u32 weight) const {
  if (!newer.known()) return *this;
  if (!known()) return newer;
  return {average(pages(), newer.pages(), weight), average(memory_bound(), newer.memory_bound(), weight)};
}

u32 ResourceUse::weight_of(Duration time) {
  constexpr i64 half = i64{1} << 25;  // as RecentUse::half_life
  if (time.ns <= 0) return 0;
  if (time.ns >= half * whole) return whole;
  return static_cast<u32>(time.ns * whole / (time.ns + half));
}

}  // namespace corral::sched
