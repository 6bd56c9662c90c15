// See trace/log.h. The ring is guarded by the log lock (the innermost of all ranks); sinks run without it, so that they
// may take the locks of their devices, and get one whole line a call.
#include "trace/log.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "sync/spin_lock.h"

namespace corral::log {

namespace {

constexpr size_t ring_size = 64 * 1024;
constexpr size_t max_sinks = 8;
constexpr size_t max_line = 320;

constinit SpinLock lock{Rank::log, "log"};
constinit char ring[ring_size] GUARDED_BY(lock) = {};
constinit u64 written GUARDED_BY(lock) = 0;  // bytes ever; the next goes to written % ring_size

constinit Atomic<Sink> sinks[max_sinks];
constinit Atomic<TimeSource> time_source{nullptr};
constinit Atomic<Level> console_level{Level::info};
constinit Atomic<bool> in_panic{false};

constexpr std::string_view level_names[] = {"error", "warning", "notice", "info", "debug"};

void put_in_ring(std::string_view text) REQUIRES(lock) {
  for (char c : text) {
    ring[written % ring_size] = c;
    ++written;
  }
}

void put_in_ring_in_panic(std::string_view text) NO_THREAD_SAFETY_ANALYSIS {
  put_in_ring(text);
}

// "[   12.345678] core 3: text\n"
std::string_view make_line(std::span<char> to, std::string_view text) {
  const i64 microseconds = now().ns / 1000;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string_view line = format_to(to.first(to.size() - 1), "[{5}.{06}] core {}: {}", microseconds / 1'000'000,
                                    microseconds % 1'000'000, arch::core_index(), text);
  to[line.size()] = '\n';
  return {to.data(), line.size() + 1};
}

}  // namespace

Instant now() {
  const TimeSource source = time_source.load(Order::acquire);
  return source == nullptr ? Instant{0} : source();
}

void add_sink(Sink sink) {
  for (Atomic<Sink>& place : sinks) {
    Sink empty = nullptr;
    if (place.compare_exchange(empty, sink, Order::release, Order::relaxed)) return;
  }
}

void remove_sink(Sink sink) {
  for (Atomic<Sink>& place : sinks) {
    Sink expected = sink;
    if (place.compare_exchange(expected, nullptr, Order::relaxed, Order::relaxed)) return;
  }
}

void set_time_source(TimeSource now) {
  time_source.store(now, Order::release);
}

void set_level(Level console) {
  console_level.store(console, Order::relaxed);
}

bool set_level(std::string_view name) {
  for (size_t i = 0; i < std::size(level_names); ++i) {
    if (level_names[i] == name) {
      set_level(static_cast<Level>(i));
      return true;
    }
  }
  return false;
}

void write(Level level, std::string_view text) {
  char buffer[max_line];
  std::string_view line = make_line(buffer, text);
  bool broken = in_panic.load(Order::relaxed);
  if (broken) {
    put_in_ring_in_panic(line);
  } else {
    LockGuard guard{lock};
    put_in_ring(line);
  }
  if (!broken && level > console_level.load(Order::relaxed)) return;
  for (const Atomic<Sink>& sink : sinks) {
    if (Sink function = sink.load(Order::acquire)) function(line);
  }
}

size_t copy_ring(char* to, size_t size) {
  LockGuard guard{lock};
  u64 first = written > ring_size ? written - ring_size : 0;
  if (first != 0) {  // the oldest line has lost its beginning
    while (first < written && ring[first % ring_size] != '\n') ++first;
    if (first < written) ++first;
  }
  size_t count = 0;
  for (u64 at = first; at < written && count < size; ++at) to[count++] = ring[at % ring_size];
  return count;
}

void begin_panic() {
  in_panic.store(true, Order::relaxed);
}

}  // namespace corral::log
