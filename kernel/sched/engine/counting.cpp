#include "sched/engine/counting.h"

#include "lib/format.h"
#include "trace/log.h"

namespace corral::sched::counting {

constinit Atomic<u32> detail::session{0};

namespace {

struct Known {
  CounterSource* source = nullptr;
  const char* missing = nullptr;  // why it cannot be used
};

// Boot writes, then constant.
constinit Known known[most_sources];
constinit u32 count = 0;
constinit CounterSource* in_use = nullptr;
constinit bool always = false;

constinit Atomic<bool> wanted_by_policy{false};

// What policies go by can be told from it (ResourceUse::of).
bool tells_of_memory(const CounterSource& source) {
  return source.counts().has(Figure::refills) || source.counts().has(Figure::pages);
}

// One call at a time.
bool update() {
  const bool on = in_use != nullptr && (always || wanted_by_policy.load(Order::relaxed));
  if (on == active()) return false;
  detail::session.fetch_add(1, Order::release);
  return true;
}

}  // namespace

void add(CounterSource& source) {
  if (count < most_sources) known[count++] = {&source, source.find_out()};
}

void choose(std::string_view name) {
  const bool automatic = name == "auto";
  for (u32 i = 0; i < count && name != "none"; ++i) {
    if (automatic ? !tells_of_memory(*known[i].source) : name != known[i].source->name()) continue;
    if (known[i].missing == nullptr) {
      in_use = known[i].source;
      always = !automatic;
      break;
    }
    if (!automatic) log::warning("counters={}: {}; nothing is counted", name, known[i].missing);
  }
  update();
}

CounterSource* chosen() {
  return in_use;
}

bool want(bool wanted) {
  wanted_by_policy.store(wanted, Order::relaxed);
  return update();
}

size_t describe(char* to, size_t size) {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("counters {}:", in_use == nullptr ? "none" : in_use->name());
  for (u32 i = 0; i < count; ++i) line(" {}", known[i].source->name());
  line("\ncounting {}\n", active() ? "on" : "off");
  for (u32 i = 0; i < count; ++i) {
    const Known& each = known[i];
    line("counters of {}:", each.source->name());
    if (each.missing != nullptr) {
      line(" not available, {}\n", each.missing);
      continue;
    }
    for (u32 figure = 0; figure < figures; ++figure) {
      if (each.source->counts().has(static_cast<Figure>(figure))) line(" {}", name_of(static_cast<Figure>(figure)));
    }
    line("; {}\n", each.source->description());
  }
  return used;
}

}  // namespace corral::sched::counting
