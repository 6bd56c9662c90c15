#include "core_cache.h"

namespace corral::cache_model {

CoreCache::Outcome CoreCache::ask(u64 line, bool store) {
  const SharedCache::Answer answer = shared_.fetch(core_, line, store);
  if (Line* const here = lines_.find(line)) {
    *here = Line{line, answer.writable};
    read_inbox();
    return {false, answer.refill, answer.snooped};
  }
  // The shared cache may have made room by a line of this core. Others may already want the line that is on its way.
  Line arriving{line, answer.writable};
  inbox_.read([&](const Wish& wish) {
    if (wish.line != line) {
      apply(wish);
    } else if (wish.kind == Wish::Kind::drop) {
      arriving.clear();
    } else if (!arriving.empty()) {
      arriving = Line{line, false};
    }
  });
  if (!arriving.empty()) {
    Line& place = lines_.make_room(line);
    if (!place.empty()) shared_.let_go(core_, place.number());
    place = arriving;
  }
  return {true, answer.refill, answer.snooped};
}

void CoreCache::do_wishes() {
  inbox_.read([this](const Wish& wish) { apply(wish); });
}

void CoreCache::apply(const Wish& wish) {
  Line* const line = lines_.find(wish.line);
  if (line == nullptr) return;
  if (wish.kind == Wish::Kind::drop) {
    line->clear();
  } else {
    *line = Line{wish.line, false};
  }
}

}  // namespace corral::cache_model
