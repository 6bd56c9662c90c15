#include "report.h"

namespace corral::cache_model {

namespace {

// Of a name in the guest's memory, which may be anything.
std::string quoted(std::string_view text) {
  std::string out{'"'};
  for (const char each : text) {
    const bool plain = each >= ' ' && each <= '~' && each != '"' && each != '\\';
    out += plain ? each : '?';
  }
  return out + '"';
}

std::string of(const Reading& reading, Mode mode) {
  std::string out;
  for (u32 event = 0; event < events; ++event) {
    out += out.empty() ? "{" : ", ";
    out += quoted(event_names[event]) + ": " + std::to_string(reading.values[static_cast<u32>(mode)][event]);
  }
  return out + '}';
}

std::string both(const Reading& reading) {
  return "\"user\": " + of(reading, Mode::user) + ", \"kernel\": " + of(reading, Mode::kernel);
}

std::string of(const CacheShape& shape) {
  return "{\"size\": " + std::to_string(shape.size) + ", \"ways\": " + std::to_string(shape.ways) +
         ", \"line\": " + std::to_string(shape.line) + '}';
}

}  // namespace

std::string as_json(std::string_view label, const Parameters& parameters, std::span<const Reading> cores,
                    const ThreadUses& threads) {
  std::string out = "{\"label\": " + quoted(label) + ", \"l1\": " + of(parameters.l1) + ", \"l2\": " + of(parameters.l2) +
                    ", \"l2_cores\": " + std::to_string(parameters.l2_cores(static_cast<u32>(cores.size()))) +
                    ", \"l1_latency\": " + std::to_string(parameters.l1_latency) +
                    ", \"l2_latency\": " + std::to_string(parameters.l2_latency) + ", \"cores\": [";
  for (size_t i = 0; i < cores.size(); ++i) {
    out += (i == 0 ? "{\"core\": " : ", {\"core\": ") + std::to_string(i) + ", " + both(cores[i]) + '}';
  }
  out += "], \"threads\": [";
  bool first = true;
  for (const auto& [thread, use] : threads) {
    out += (first ? "{\"thread\": " : ", {\"thread\": ") + std::to_string(thread) + ", \"name\": " + quoted(use.name) + ", " +
           both(use.use) + '}';
    first = false;
  }
  return out + "]}";
}

}  // namespace corral::cache_model
