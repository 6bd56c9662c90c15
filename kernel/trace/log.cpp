// See trace/log.h. The ring is guarded by the log lock (the innermost of all ranks); sinks run without it, so that they
// may take the locks of their devices, and get one whole line a call.
#include "trace/log.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "sync/spin_lock.h"
#include "trace/log_lines.h"

namespace corral::log {

namespace {

constexpr size_t ring_size = 64 * 1024;
constexpr size_t max_sinks = 8;
constexpr size_t max_line = 320;

constinit SpinLock lock{Rank::log, "log"};
// Lines: "<6>[   12.345678] core 3: text\n", with the priority first (log_lines.h).
constinit char ring[ring_size] GUARDED_BY(lock) = {};
constinit u64 written GUARDED_BY(lock) = 0;  // bytes ever; the next goes to written % ring_size
constinit u64 lines GUARDED_BY(lock) = 0;  // ever
constinit u64 lines_lost GUARDED_BY(lock) = 0;  // whose ends are overwritten

constinit Atomic<Sink> sinks[max_sinks];
constinit Atomic<TimeSource> time_source{nullptr};
constinit Atomic<Level> console_level{Level::info};
constinit Atomic<bool> in_panic{false};

constexpr std::string_view level_names[] = {"error", "warning", "notice", "info", "debug"};
constexpr u32 first_seriousness = 3;  // of Level::error, as syslog counts

void put_in_ring(char c) REQUIRES(lock) {
  char& place = ring[written % ring_size];
  if (written >= ring_size && place == '\n') ++lines_lost;
  place = c;
  ++written;
}

void put_in_ring(u32 priority, std::string_view line) REQUIRES(lock) {
  char memory[8];
  for (char c : format_to(memory, "<{}>", priority)) put_in_ring(c);
  for (char c : line.substr(0, line.size() - 1)) put_in_ring(c == '\n' ? ' ' : c);
  put_in_ring('\n');
  ++lines;
}

void put_in_ring_in_panic(u32 priority, std::string_view line) NO_THREAD_SAFETY_ANALYSIS {
  put_in_ring(priority, line);
}

// "[   12.345678] core 3: text\n", or without the core.
std::string_view make_line(std::span<char> to, std::string_view text, bool of_kernel) {
  const i64 microseconds = now().ns / 1000;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::span<char> room = to.first(to.size() - 1);
  size_t size = format_to(room, "[{5}.{06}] ", microseconds / 1'000'000, microseconds % 1'000'000).size();
  if (of_kernel) size += format_to(room.subspan(size), "core {}: ", arch::core_index()).size();
  size += format_to(room.subspan(size), "{}", text).size();
  to[size] = '\n';
  return {to.data(), size + 1};
}

void write(u32 priority, std::string_view line) {
  const bool broken = in_panic.load(Order::relaxed);
  if (broken) {
    put_in_ring_in_panic(priority, line);
  } else {
    LockGuard guard{lock};
    put_in_ring(priority, line);
  }
  const u32 shown = first_seriousness + static_cast<u32>(console_level.load(Order::relaxed));
  if (!broken && priority % 8 > shown) return;
  for (const Atomic<Sink>& sink : sinks) {
    if (Sink function = sink.load(Order::acquire)) function(line);
  }
}

// The oldest line that has not lost its beginning.
Place find_oldest() REQUIRES(lock) {
  if (written <= ring_size) return {};
  u64 at = written - ring_size;
  while (at < written && ring[at % ring_size] != '\n') ++at;
  return {lines_lost + 1, at + 1};
}

// A number at `at`, which goes on behind it and `skipped` characters more.
u64 take_number(std::string_view text, size_t& at, size_t skipped) {
  u64 number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) number = 10 * number + static_cast<u64>(text[at] - '0');
  at += skipped;
  return number;
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
  write(first_seriousness + static_cast<u32>(level), make_line(buffer, text, true));
}

void write_line(u32 priority, std::string_view text) {
  char buffer[max_line];
  write(priority, make_line(buffer, text, false));
}

size_t copy_ring(char* to, size_t size) {
  LockGuard guard{lock};
  size_t count = 0;
  for (u64 at = find_oldest().at; at < written && count < size; ++at) to[count++] = ring[at % ring_size];
  return count;
}

Place oldest_line() {
  LockGuard guard{lock};
  return find_oldest();
}

Place behind_last_line() {
  LockGuard guard{lock};
  return {lines, written};
}

Reading next_line(Place& place, std::span<char, longest_line> memory, Line& line) {
  size_t size = 0;
  {
    LockGuard guard{lock};
    if (place.at + ring_size < written) {
      place = find_oldest();
      return Reading::lost;
    }
    if (place.at >= written) return Reading::nothing_more;
    while (size < memory.size()) {
      memory[size] = ring[place.at++ % ring_size];
      if (memory[size] == '\n') break;
      ++size;
    }
  }
  ++place.number;
  const std::string_view whole{memory.data(), size};
  size_t at = 1;
  line.priority = static_cast<u32>(take_number(whole, at, 2));
  while (at < size && whole[at] == ' ') ++at;
  const u64 seconds = take_number(whole, at, 1);
  line.microseconds = static_cast<i64>(seconds * 1'000'000 + take_number(whole, at, 2));
  line.text = whole.substr(at < size ? at : size);
  return Reading::line;
}

void begin_panic() {
  in_panic.store(true, Order::relaxed);
}

}  // namespace corral::log
