#include "parameters.h"

namespace corral::cache_model {

namespace {

struct Preset {
  std::string_view name;
  CacheShape l1, l2;
  u32 l1_latency, l2_latency;
};
constexpr Preset presets[] = {
    {"pi", {16 << 10, 4, 64}, {128 << 10, 16, 64}, 10, 100},
    {"today", {48 << 10, 12, 64}, {2 << 20, 16, 64}, 14, 150},
};

bool use_preset(std::string_view name, Parameters& parameters) {
  for (const Preset& each : presets) {
    if (each.name != name) continue;
    parameters.l1 = each.l1;
    parameters.l2 = each.l2;
    parameters.l1_latency = each.l1_latency;
    parameters.l2_latency = each.l2_latency;
    return true;
  }
  return false;
}

bool use_clock(std::string_view name, GuestClock& clock) {
  constexpr std::string_view names[] = {"instructions", "stalls", "parallel"};
  for (u32 i = 0; i < std::size(names); ++i) {
    if (names[i] != name) continue;
    clock = static_cast<GuestClock>(i);
    return true;
  }
  return false;
}

// Null: the word was understood; otherwise what its value has to be.
const char* use_word(std::string_view key, std::string_view value, Parameters& to) {
  const auto on_or_off = [&](bool& flag) { return (flag = value == "on") || value == "off" ? nullptr : "on or off"; };
  const auto cycles = [&](u32& number) {
    return parse(value, number) && number <= 1'000'000 ? nullptr : "0 to 1000000 cycles";
  };
  const auto shape = [&](CacheShape& cache) {
    return parse(value, cache) ? cache.fault() : "SIZE:WAYS or SIZE:WAYS:LINE, such as 16K:4:64";
  };
  if (key == "preset") return use_preset(value, to) ? nullptr : "pi or today";
  if (key == "l1") return shape(to.l1);
  if (key == "l2") return shape(to.l2);
  if (key == "l2per") return parse(value, to.l2_per) && to.l2_per <= 64 ? nullptr : "0 to 64 cores";
  if (key == "l1lat") return cycles(to.l1_latency);
  if (key == "l2lat") return cycles(to.l2_latency);
  if (key == "quantum") return cycles(to.quantum);
  if (key == "clock") return use_clock(value, to.clock) ? nullptr : "instructions, stalls or parallel";
  if (key == "roi") return on_or_off(to.region_only);
  if (key == "out") {
    to.report = value;
    return to.report.empty() ? "the name of a file" : nullptr;
  }
  return "one of preset, l1, l2, l2per, l1lat, l2lat, quantum, clock, roi, out";
}

}  // namespace

std::string parse(std::span<const std::string_view> words, Parameters& parameters) {
  for (const std::string_view word : words) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (const char* wanted = use_word(key, value, parameters)) return std::string{word} + ": wanted is " + wanted;
  }
  if (parameters.l1.line != parameters.l2.line) return "l1 and l2: lines must be of the same size";
  if (parameters.l2.size < parameters.l1.size) return "l2: smaller than l1, whose lines it holds as well";
  if (parameters.clock == GuestClock::parallel && parameters.quantum == 0)
    return "clock=parallel: needs a quantum, such as 2000";
  return {};
}

}  // namespace corral::cache_model
