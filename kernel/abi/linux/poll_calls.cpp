// poll, ppoll, select, pselect6. Source: Linux man-pages poll(2), select(2). How no wake-up is lost: fs/poll_set.h.
//
// What a call waits for is kept in a Polling object on the heap while it waits; the thread's step remembers it. A step is
// always run again after a wait, also when its process ends, so that the object is always released.
#include "abi/linux/file_handlers.h"
#include "abi/linux/temporary_mask.h"
#include "device/clock.h"
#include "fs/poll_set.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

constexpr unsigned word_polling = 0, word_deadline = 1, word_result = 2, word_succeeded = 3;
constexpr u32 phase_started = 1, phase_over = 2;

// What the program says in its memory. Read at the call's first run only: another thread may change it meanwhile.
struct Wish {
  Instant deadline = never;
  VirtualAddress mask{};
  u64 mask_size = 0;
};

// Where what is left of the time goes; null: nowhere.
struct Rest {
  VirtualAddress to{};
  bool in_microseconds = false;
};

struct PolledFile {  // struct pollfd
  i32 descriptor;
  u16 events;
  u16 ready;
};
static_assert(sizeof(PolledFile) == 8);

class Polling {
 public:
  Polling() = default;
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;
  ~Polling() {
    for (u64 i = 0; i < held_; ++i) {
      if (holds_[i] != nullptr) holds_[i]->drop();
    }
    if (files_ != few_files_) memory::release(files_);
    if (holds_ != few_holds_) memory::release(holds_);
  }

  Result<void> allocate(u64 count) {
    if (count > few) {
      files_ = static_cast<PolledFile*>(memory::allocate(count * sizeof(PolledFile)));
      holds_ = static_cast<fs::OpenFile**>(memory::allocate(count * sizeof(fs::OpenFile*)));
      if (files_ == nullptr || holds_ == nullptr) return Errno::enomem;
    }
    count_ = count;
    return {};
  }
  [[nodiscard]] std::span<PolledFile> files() { return {files_, count_}; }
  // The files behind the descriptors, for the whole call. False: one of those that are not negative is not open.
  bool hold(fs::FileTable& table) {
    held_ = count_;
    return table.hold(count_, holds_, [this](u64 i) { return files_[i].descriptor; });
  }
  // Looks at every file; `enlist`: and is told of changes from then on. Answers how many are ready. enomem.
  Result<u64> look(bool enlist);
  // What the last look found has not reached the program; there will be another one.
  void not_told() {
    for (u64 i = 0; i < count_; ++i) {
      if (holds_[i] != nullptr && files_[i].ready != 0) holds_[i]->not_told(files_[i].ready);
    }
  }
  fs::PollSet set;

 private:
  static constexpr u64 few = 8;  // without memory of their own
  PolledFile few_files_[few];
  fs::OpenFile* few_holds_[few];
  PolledFile* files_ = few_files_;
  fs::OpenFile** holds_ = few_holds_;  // references; null: not open
  u64 count_ = 0;
  u64 held_ = 0;
  bool enlisted_ = false;
};

constexpr u32 always = fs::poll_unasked | fs::poll_nval;

Result<u64> Polling::look(bool enlist) {
  const bool first = enlist && !enlisted_;
  if (first) TRY(set.allocate(count_));
  if (enlist) set.begin_look();
  enlisted_ = enlisted_ || enlist;
  u64 ready = 0;
  for (u64 i = 0; i < count_; ++i) {
    PolledFile& polled = files_[i];
    fs::OpenFile* file = holds_[i];
    u32 bits = 0;
    if (file == nullptr) {
      bits = polled.descriptor < 0 ? 0 : fs::poll_nval;
    } else if (first) {
      bits = file->poll(&set.put(i, Ref<fs::OpenFile>::share(*file), polled.events | always));
    } else {
      bits = file->poll(nullptr);
    }
    polled.ready = static_cast<u16>(bits & (polled.events | always));
    if (polled.ready != 0) ++ready;
  }
  return ready;
}

// Waits until something is ready. Answers how many files are; 0: the deadline passed.
Result<u64> wait(Call& call, Polling& polling, Instant deadline) {
  for (bool enlist = call.thread.wake_reason() != WakeReason::none;; enlist = true) {
    const u64 ready = TRY(polling.look(enlist));
    if (ready > 0 || deadline == Instant{}) return ready;
    if (clock::now() >= deadline) return u64{0};
    if (!enlist) continue;
    const Errno outcome = polling.set.wait(call.thread, deadline);
    if (outcome == Errno::blocked) return outcome;
    if (outcome != Errno{}) return Errno::restart_without_handler;
  }
}

// The end of a call, which tells what is left of its time, whatever came of it. It counts even if that cannot be written.
Result<i64> tell_rest(Call& call, const Rest& rest) {
  const StepState& step = call.thread.step;
  const Instant deadline{static_cast<i64>(step.word[word_deadline])};
  constexpr u32 sticky = 0x400'0000;  // STICKY_TIMEOUTS
  const bool told = (call.process.manners.personality.load(Order::relaxed) & sticky) == 0;
  if (told && deadline != Instant{} && deadline != never) {
    const Instant now = clock::now();
    TimeSpec left = time_spec(deadline > now ? (deadline - now).ns : 0);
    if (rest.in_microseconds) left.nanoseconds /= 1000;
    const Result<void> written = call.write(rest.to, left);
    if (!written.ok() && written.error() == Errno::blocked) return Errno::blocked;
  }
  if (step.word[word_succeeded] == 0) return static_cast<Errno>(step.word[word_result]);
  return static_cast<i64>(step.word[word_result]);
}

// Runs one call: `ask` answers the Wish and `prepare` fills the Polling at the first run, `tell` gives the program what was found.
template <class Ask, class Prepare, class Tell>
Result<i64> run(Call& call, const Rest& rest, Ask&& ask, Prepare&& prepare, Tell&& tell) {
  StepState& step = call.thread.step;
  if (step.phase == phase_over) return tell_rest(call, rest);
  if (step.phase != phase_started) {
    const Wish wish = TRY(ask());
    Polling* made = TRY(memory::make<Polling>());
    Result<void> prepared = prepare(*made);
    if (prepared.ok()) prepared = set_temporary_mask(call, wish.mask, wish.mask_size);
    if (!prepared.ok()) {
      delete made;
      return prepared.error();
    }
    step.phase = phase_started;
    step.word[word_polling] = reinterpret_cast<u64>(made);
    step.word[word_deadline] = static_cast<u64>(wish.deadline.ns);
  }
  auto* polling = reinterpret_cast<Polling*>(step.word[word_polling]);
  const Result<u64> ready = wait(call, *polling, Instant{static_cast<i64>(step.word[word_deadline])});
  if (!ready.ok() && ready.error() == Errno::blocked) return Errno::blocked;
  Result<i64> outcome = ready.ok() ? tell(*polling, ready.value()) : Result<i64>{ready.error()};
  if (!outcome.ok() && outcome.error() == Errno::blocked) {
    polling->not_told();
    return Errno::blocked;
  }
  delete polling;
  if (rest.to.value == 0) {
    step.phase = 0;
    return outcome;
  }
  step.phase = phase_over;
  step.word[word_succeeded] = outcome.ok() ? 1 : 0;
  step.word[word_result] = outcome.ok() ? static_cast<u64>(outcome.value()) : static_cast<u64>(outcome.error());
  return tell_rest(call, rest);
}

// Instant{}: look once and do not wait.
Instant deadline_of(Duration wait) {
  return wait.ns == 0 ? Instant{} : deadline_after(clock::now(), wait);
}

// As a timespec in the program's memory says; null: never.
Result<Instant> deadline_at(Call& call, VirtualAddress wait) {
  if (wait.value == 0) return never;
  return deadline_of(TRY(duration_of(TRY(call.read<TimeSpec>(wait)))));
}

// ---- poll --------------------------------------------------------------------------------------------------------------

// Writes what is ready, and nothing else, into the program's array.
Result<void> tell_poll(Call& call, VirtualAddress list, std::span<const PolledFile> files) {
  VirtualAddress at = list + offsetof(PolledFile, ready);
  u8* to = nullptr;
  u64 left = 0;  // in the page behind `to`
  for (const PolledFile& polled : files) {
    if (left < sizeof polled.ready) {
      left = page_size - at.value % page_size;
      if (left < sizeof polled.ready) {  // it lies in two pages
        TRY(call.write(at, polled.ready));
        at = at + sizeof(PolledFile);
        left = 0;
        continue;
      }
      to = TRY(call.space.resolve(call.thread.caller, at, vm::Access::write));
    }
    memcpy(to, &polled.ready, sizeof polled.ready);
    at = at + sizeof(PolledFile);
    const u64 step = fs::smaller(left, sizeof(PolledFile));
    to += step;
    left -= step;
  }
  return {};
}

template <class Ask>
Result<i64> poll(Call& call, const Rest& rest, Ask&& ask) {
  const VirtualAddress list = call.address(0);
  const u64 count = static_cast<u32>(call.argument[1]);
  if (count > call.process.limits.open_files) return Errno::einval;
  return run(
      call, rest, ask,
      [&](Polling& polling) -> Result<void> {
        TRY(polling.allocate(count));
        TRY(vm::copy_in(call.space, call.thread.caller, polling.files().data(), list, count * sizeof(PolledFile)));
        (void)polling.hold(resources_of(call).files());
        return {};
      },
      [&](Polling& polling, u64 ready) -> Result<i64> {
        TRY(tell_poll(call, list, polling.files()));
        return static_cast<i64>(ready);
      });
}

// After a stop it goes on with the same deadline.
Result<i64> sys_poll(Call& call) {
  StepState& step = call.thread.step;
  const i32 wait_ms = call.number(2);
  if (step.word[word_deadline] == 0) {
    step.word[word_deadline] = static_cast<u64>((wait_ms < 0 ? never : deadline_of(milliseconds(wait_ms))).ns);
  }
  const u64 deadline = step.word[word_deadline];
  Result<i64> result = poll(call, {}, [&]() -> Result<Wish> { return Wish{.deadline = Instant{static_cast<i64>(deadline)}}; });
  if (result.ok() || result.error() != Errno::restart_without_handler) return result;
  step = {};
  step.word[word_deadline] = deadline;
  return Errno::restart_from_step;
}

Result<i64> sys_ppoll(Call& call) {
  return poll(call, {.to = call.address(2)}, [&]() -> Result<Wish> {
    return Wish{.deadline = TRY(deadline_at(call, call.address(2))), .mask = call.address(3), .mask_size = call.argument[4]};
  });
}

// ---- select ------------------------------------------------------------------------------------------------------------

constexpr u32 for_reading = fs::poll_in | fs::poll_rdnorm | fs::poll_hup | fs::poll_err;
constexpr u32 for_writing = fs::poll_out | fs::poll_wrnorm | fs::poll_err;
constexpr u32 for_exceptions = fs::poll_pri;
constexpr u64 most_selected = 1024;  // FD_SETSIZE: what fd_set holds

struct Sets {
  u64 words[3][most_selected / 64];
  // Only the words for so many descriptors are used.
  explicit Sets(u64 count) {
    for (auto& set : words) {
      for (u64 w = 0; w < round_up(count, 64) / 64; ++w) set[w] = 0;
    }
  }
};

Result<void> take_sets(Call& call, u64 count, Sets& sets) {
  for (unsigned s = 0; s < 3; ++s) {
    const VirtualAddress from = call.address(1 + s);
    if (from.value != 0) TRY(vm::copy_in(call.space, call.thread.caller, sets.words[s], from, round_up(count, 64) / 8));
  }
  return {};
}

Result<void> prepare_select(Call& call, u64 count, Polling& polling) {
  Sets sets{count};
  TRY(take_sets(call, count, sets));
  u64 asked[most_selected / 64];
  u64 chosen = 0;
  for (u64 w = 0; w < round_up(count, 64) / 64; ++w) {
    asked[w] = sets.words[0][w] | sets.words[1][w] | sets.words[2][w];
    if (count - w * 64 < 64) asked[w] &= (u64{1} << (count - w * 64)) - 1;
    chosen += static_cast<u64>(__builtin_popcountll(asked[w]));
  }
  TRY(polling.allocate(chosen));
  PolledFile* next = polling.files().data();
  for (u64 w = 0; w < round_up(count, 64) / 64; ++w) {
    for (u64 left = asked[w]; left != 0; left &= left - 1) {
      const u64 i = w * 64 + static_cast<u64>(__builtin_ctzll(left));
      const auto wanted = [&](unsigned s) { return (sets.words[s][w] >> (i % 64) & 1) != 0; };
      const u32 events = (wanted(0) ? for_reading : 0u) | (wanted(1) ? for_writing : 0u) | (wanted(2) ? for_exceptions : 0u);
      *next++ = {static_cast<i32>(i), static_cast<u16>(events), 0};
    }
  }
  if (!polling.hold(resources_of(call).files())) return Errno::ebadf;
  return {};
}

Result<i64> tell_select(Call& call, u64 count, Polling& polling) {
  Sets found{count};
  i64 bits = 0;
  for (const PolledFile& polled : polling.files()) {
    if (polled.ready == 0) continue;
    const u64 i = static_cast<u64>(polled.descriptor);
    const u32 kinds[3] = {for_reading, for_writing, for_exceptions};
    for (unsigned s = 0; s < 3; ++s) {
      // A file wanted for reading only may be ready for writing too: POLLHUP and POLLERR count for those that asked.
      if ((polled.events & kinds[s] & ~(fs::poll_hup | fs::poll_err)) == 0 || (polled.ready & kinds[s]) == 0) continue;
      found.words[s][i / 64] |= u64{1} << (i % 64);
      ++bits;
    }
  }
  for (unsigned s = 0; s < 3; ++s) {
    const VirtualAddress to = call.address(1 + s);
    if (to.value != 0) TRY(vm::copy_out(call.space, call.thread.caller, to, found.words[s], round_up(count, 64) / 8));
  }
  return bits;
}

template <class Ask>
Result<i64> select(Call& call, const Rest& rest, Ask&& ask) {
  const i32 wanted = call.number(0);
  const u64 count =
      fs::smaller(wanted < 0 ? 0 : static_cast<u64>(wanted), fs::smaller(most_selected, call.process.limits.open_files));
  return run(
      call, rest, ask,
      [&](Polling& polling) -> Result<void> {
        return wanted < 0 ? Result<void>{Errno::einval} : prepare_select(call, count, polling);
      },
      [&](Polling& polling, u64) { return tell_select(call, count, polling); });
}

Result<i64> sys_select(Call& call) {
  return select(call, {.to = call.address(4), .in_microseconds = true}, [&]() -> Result<Wish> {
    if (call.argument[4] == 0) return Wish{};
    const auto wait = TRY(call.read<TimeValue>(call.address(4)));
    if (wait.microseconds < 0) return Errno::einval;
    const TimeSpec time{wait.seconds + wait.microseconds / 1'000'000, wait.microseconds % 1'000'000 * 1000};
    return Wish{.deadline = deadline_of(TRY(duration_of(time)))};
  });
}

Result<i64> sys_pselect6(Call& call) {
  struct Mask {
    u64 address, size;
  };
  return select(call, {.to = call.address(4)}, [&]() -> Result<Wish> {
    Mask mask{};
    if (call.argument[5] != 0) mask = TRY(call.read<Mask>(call.address(5)));
    return Wish{.deadline = TRY(deadline_at(call, call.address(4))), .mask = {mask.address}, .mask_size = mask.size};
  });
}

constexpr Entry entries[] = {
    {7, "poll", sys_poll}, {23, "select", sys_select}, {270, "pselect6", sys_pselect6}, {271, "ppoll", sys_ppoll}};

}  // namespace

std::span<const Entry> poll_calls() {
  return entries;
}

}  // namespace corral::abi
