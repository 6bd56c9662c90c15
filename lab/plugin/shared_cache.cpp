#include "shared_cache.h"

#include <bit>

namespace corral::cache_model {

void SharedCache::tell(u64 cores, const Wish& wish) {
  for (; cores != 0; cores &= cores - 1) inboxes_[static_cast<size_t>(std::countr_zero(cores))].post(wish);
}

void SharedCache::take_from_others(const Cache<Line>& own, Line& here, bool store, Answer& answer) {
  here.elsewhere = false;
  for (Cache<Line>& other : caches_) {
    Line* const there = &other != &own ? other.find(here.number) : nullptr;
    if (there == nullptr) continue;
    if (store) {
      tell(there->sharers, {here.number, Wish::Kind::drop});
      there->clear();
      answer.snooped = true;
      continue;
    }
    if (there->writer != 0) {
      tell(there->sharers, {here.number, Wish::Kind::share});
      there->writer = 0;
      answer.snooped = true;
    }
    there->elsewhere = here.elsewhere = true;
  }
}

SharedCache::Answer SharedCache::fetch(u32 core, u64 line, bool store) {
  const u64 self = u64{1} << core;
  Cache<Line>& own = cache_of(core);
  const std::lock_guard guard{lock_of(line)};
  Answer answer;
  Line* found = own.use(line);
  if (found == nullptr) {
    answer.refill = true;
    found = &own.make_room(line);
    tell(found->sharers, {found->number, Wish::Kind::drop});
    *found = {line};
  }
  if (answer.refill || (store && found->elsewhere)) take_from_others(own, *found, store, answer);
  const u64 others = found->sharers & ~self;
  if (store && others != 0) {
    tell(others, {line, Wish::Kind::drop});
    answer.snooped = true;
  } else if (others != 0 && found->writer != 0) {
    tell(others, {line, Wish::Kind::share});
    answer.snooped = true;
  }
  answer.writable = store || (others == 0 && !found->elsewhere);
  found->sharers = answer.writable ? self : found->sharers | self;
  found->writer = answer.writable ? core + 1 : 0;
  return answer;
}

void SharedCache::let_go(u32 core, u64 line) {
  const std::lock_guard guard{lock_of(line)};
  Line* const found = cache_of(core).find(line);
  if (found == nullptr) return;
  found->sharers &= ~(u64{1} << core);
  if (found->writer == core + 1) found->writer = 0;
}

}  // namespace corral::cache_model
