// /dev/kmsg: the kernel's log, a line with each read, and lines of programs. Source: Linux Documentation/ABI/testing/dev-kmsg.
//
// Lines come in any context, under any lock, so that nobody can be woken there. While somebody waits for one, a timer looks.
#include "core/core.h"
#include "device/clock.h"
#include "fs/device_files.h"
#include "fs/poll_source.h"
#include "fs/transfer.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "task/thread.h"
#include "trace/log_lines.h"

namespace corral::fs {

namespace {

constexpr Duration between_looks = milliseconds(50);
constexpr u32 of_programs = 8;      // the priority's part that says who
constexpr u32 most_priority = 1023;
constexpr u32 usual_priority = of_programs + 6;
constexpr u64 longest_text = 992;   // that a program may write at once; what the log has no room for is left out

constinit SpinLock followers_lock{Rank::file, "who follows the log"};
constinit WaitQueue readers{followers_lock};
constinit PollSource pollers{followers_lock};
constinit u64 told GUARDED_BY(followers_lock) = 0;  // lines that waiters were woken for
constinit bool timer_runs GUARDED_BY(followers_lock) = false;
alignas(TimerEvent) constinit u8 timer_storage[sizeof(TimerEvent)] = {};

void look(TimerEvent& event) {
  LockGuard guard{followers_lock};
  if (const u64 lines = log::behind_last_line().number; std::exchange(told, lines) != lines) {
    (void)readers.wake_all();
    pollers.notify(poll_in | poll_rdnorm | poll_err | poll_pri);
  }
  timer_runs = !readers.empty() || pollers.in_use();
  if (timer_runs) this_core().timers().add(event, clock::now() + between_looks);
}

// True: the caller starts it, without the lock.
bool begin_timer() REQUIRES(followers_lock) {
  return !std::exchange(timer_runs, true);
}

void start_timer() {
  auto* event = ::new (timer_storage) TimerEvent(look);
  this_core().timers().add(*event, clock::now() + between_looks);
  this_core().rearm_timer();
}

// "6,339,5140900,-;text\n", with what cannot be printed as \x1b.
std::string_view make_record(std::span<char> to, u64 number, const log::Line& line) {
  size_t size = format_to(to, "{},{},{},-;", line.priority, number, line.microseconds).size();
  for (const char c : line.text) {
    const auto byte = static_cast<u8>(c);
    const bool shown = byte >= ' ' && byte < 0x7f && c != '\\';
    if (shown) {
      to[size++] = c;
    } else {
      constexpr const char* digits = "0123456789abcdef";
      for (const char part : {'\\', 'x', digits[byte / 16], digits[byte % 16]}) to[size++] = part;
    }
  }
  to[size++] = '\n';
  return {to.data(), size};
}

class LogFile final : public OpenFile {
 public:
  LogFile(Ref<Inode> inode, u32 flags) : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, place_{log::oldest_line()} {}

  // One line. einval: it does not fit; eagain; epipe: the next ones are lost, and those behind them can be read.
  Result<u64> read(Thread& thread, Transfer& transfer) override {
    char memory[log::longest_line], record[4 * log::longest_line];
    log::Line line;
    log::Place next = place();
    const log::Place before = next;
    const log::Reading found = log::next_line(next, memory, line);
    if (found == log::Reading::lost) return (void)move(before, next), Errno::epipe;
    if (found == log::Reading::nothing_more) return nonblocking() ? Errno::eagain : wait(thread, before);
    const std::string_view text = make_record(record, before.number, line);
    if (transfer.left() < text.size()) return Errno::einval;
    TRY(transfer.put(0, text.data(), text.size()));
    if (!move(before, next)) return pause_step(thread);  // another thread was given this one
    transfer.advance(text.size());
    return transfer.done();
  }
  Result<u64> read_at(Thread& thread, u64, Transfer& transfer) override { return read(thread, transfer); }

  // A line, whose priority may come first: "<6>text". einval: it is too long.
  Result<u64> write(Thread&, Transfer& transfer) override {
    char memory[longest_text];
    const u64 size = transfer.left();
    if (size > sizeof memory) return Errno::einval;
    TRY(transfer.get(0, memory, size));
    std::string_view text{memory, size};
    u32 priority = usual_priority;
    if (!text.empty() && text.front() == '<') {
      u64 number = 0, end = 1;
      for (; end < size && text[end] >= '0' && text[end] <= '9'; ++end) {
        number = smaller(10 * number + static_cast<u64>(text[end] - '0'), most_priority + 1);
      }
      if (end > 1 && end < size && text[end] == '>' && number <= most_priority) {
        priority = static_cast<u32>(number < of_programs ? number + of_programs : number);  // nobody else is the kernel
        text.remove_prefix(end + 1);
      }
    }
    log::write_line(priority, text);
    transfer.advance(size);
    return transfer.done();
  }
  Result<u64> write_at(Thread& thread, u64, Transfer& transfer) override { return write(thread, transfer); }

  Result<u64> seek(i64 offset, Whence whence) override {
    if (offset != 0) return Errno::espipe;
    if (whence != Whence::start && whence != Whence::data && whence != Whence::end) return Errno::einval;
    const log::Place to = whence == Whence::end ? log::behind_last_line() : log::oldest_line();
    LockGuard guard{place_lock_};
    place_ = to;
    return u64{0};
  }

  u32 poll(PollEntry* entry) override {
    char memory[log::longest_line];
    log::Line line;
    bool starts = false;
    log::Reading found{};
    {
      LockGuard guard{followers_lock};
      log::Place next = place();
      found = log::next_line(next, memory, line);
      if (entry != nullptr) {
        pollers.enlist(*entry);
        starts = begin_timer();
      }
    }
    if (starts) start_timer();
    switch (found) {
      case log::Reading::nothing_more: return 0;
      case log::Reading::lost: return poll_in | poll_rdnorm | poll_err | poll_pri;
      case log::Reading::line: break;
    }
    return poll_in | poll_rdnorm;
  }
  [[nodiscard]] bool can_poll() const override { return true; }

 private:
  log::Place place() {
    LockGuard guard{place_lock_};
    return place_;
  }
  // False: it is somewhere else by now.
  bool move(const log::Place& from, const log::Place& to) {
    LockGuard guard{place_lock_};
    if (place_.at != from.at) return false;
    place_ = to;
    return true;
  }

  Errno wait(Thread& thread, log::Place from) {
    bool starts = false;
    Errno outcome{};
    {
      LockGuard guard{followers_lock};
      if (log::behind_last_line().at != from.at) return pause_step(thread);
      outcome = readers.wait(thread);
      starts = begin_timer();
    }
    if (starts) start_timer();
    return outcome;
  }

  SpinLock place_lock_{Rank::file_end, "place in the log"};
  log::Place place_ GUARDED_BY(place_lock_);
};

}  // namespace

Result<Ref<OpenFile>> open_log(Inode& node, const OpenRequest& request) {
  return Ref<OpenFile>{Ref<LogFile>::adopt(TRY(memory::make<LogFile>(Ref<Inode>::share(node), request.flags)))};
}

}  // namespace corral::fs
