// epoll_create, epoll_ctl, epoll_wait and their relatives. Source: Linux man-pages epoll_create(2), epoll_ctl(2),
// epoll_wait(2). The order of the checks is Linux's. How it works: fs/event/event_poll.h.
#include "abi/linux/held_file.h"
#include "abi/linux/temporary_mask.h"
#include "device/clock.h"
#include "fs/event/event_poll.h"

namespace corral::abi {

namespace {

using fs::Event;
using fs::EventPoll;
using fs::OpenFile;

Result<i64> create(Call& call, u32 flags) {
  if ((flags & ~fs::o_cloexec) != 0) return Errno::einval;
  Ref<OpenFile> file = TRY(fs::make_event_poll());
  return i64{TRY(resources_of(call).files().install(file, flags != 0, call.process.limits.open_files))};
}

Result<i64> sys_epoll_create(Call& call) {
  if (call.number(0) <= 0) return Errno::einval;
  return create(call, 0);
}

Result<i64> sys_epoll_create1(Call& call) {
  return create(call, static_cast<u32>(call.argument[0]));
}

// ---- epoll_ctl ---------------------------------------------------------------------------------------------------------

enum Operation : int { operation_add = 1, operation_remove = 2, operation_modify = 3 };

Result<void> check_exclusive(int operation, u32 bits, const EventPoll* nested) {
  constexpr u32 allowed =
      fs::poll_in | fs::poll_out | fs::poll_err | fs::poll_hup | fs::epoll_wakeup | fs::epoll_edge | fs::epoll_exclusive;
  if ((bits & fs::epoll_exclusive) == 0) return {};
  if (operation == operation_modify) return Errno::einval;
  if (operation == operation_add && (nested != nullptr || (bits & ~allowed) != 0)) return Errno::einval;
  return {};
}

Result<i64> sys_epoll_ctl(Call& call) {
  const int operation = call.number(1);
  const int descriptor = call.number(2);
  Event event{};
  if (operation != operation_remove) event = TRY(call.read<Event>(call.address(3)));
  Ref<OpenFile> own = TRY(file_at(call, 0));
  Ref<OpenFile> file = TRY(file_at(call, 2));
  if (((own->flags() | file->flags()) & fs::o_path) != 0) return Errno::ebadf;
  if (!file->can_poll()) return Errno::eperm;
  EventPoll* instance = fs::event_poll_of(*own);
  if (own.get() == file.get() || instance == nullptr) return Errno::einval;
  EventPoll* nested = fs::event_poll_of(*file);
  TRY(check_exclusive(operation, event.bits, nested));
  event.bits |= fs::poll_unasked;
  switch (operation) {
    case operation_add: return success(instance->add(*file, descriptor, event, nested));
    case operation_remove: return success(instance->remove(*file, descriptor));
    case operation_modify: return success(instance->modify(*file, descriptor, event));
    default: return Errno::einval;
  }
}

// ---- epoll_wait --------------------------------------------------------------------------------------------------------

constexpr unsigned word_deadline = 0;
constexpr u32 phase_started = 1;

// Writes events to the program's array; the page that they go to is looked up once.
class ToProgram final : public EventPoll::Receiver {
 public:
  ToProgram(Call& call, VirtualAddress to) : call_{call}, to_{to} {}
  bool take(const Event& event) override {
    if (left_ < sizeof(Event)) {
      left_ = page_size - to_.value % page_size;
      if (left_ < sizeof(Event)) {  // it lies in two pages
        left_ = 0;
        error_ = call_.write(to_, event).error();
        if (error_ == Errno{}) to_ = to_ + sizeof(Event);
        return error_ == Errno{};
      }
      const Result<u8*> page = call_.space.resolve(call_.thread.caller, to_, vm::Access::write);
      if (!page.ok()) {
        left_ = 0;
        error_ = page.error();
        return false;
      }
      at_ = page.value();
    }
    __builtin_memcpy(at_, &event, sizeof event);
    at_ += sizeof event;
    left_ -= sizeof event;
    to_ = to_ + sizeof event;
    return true;
  }
  [[nodiscard]] Errno error() const { return error_; }

 private:
  Call& call_;
  VirtualAddress to_;
  u8* at_ = nullptr;
  u64 left_ = 0;  // bytes of the page behind at_
  Errno error_{};
};

Result<i64> collect(Call& call, EventPoll& instance) {
  ToProgram receiver{call, call.address(1)};
  const u64 told = TRY(instance.collect(call.thread, receiver, static_cast<u64>(call.number(2))));
  if (told == 0 && receiver.error() != Errno{}) return receiver.error();
  return static_cast<i64>(told);
}

Result<i64> collect_or_wait(Call& call, EventPoll& instance, Instant deadline) {
  for (;;) {
    const i64 told = TRY(collect(call, instance));
    if (told > 0) return told;
    if (deadline == Instant{} || (deadline != never && clock::now() >= deadline)) return 0;
    const Errno outcome = instance.wait(call.thread, deadline);
    if (outcome == Errno::blocked) return outcome;
    if (outcome != Errno{}) return Errno::eintr;  // whatever the handler's flags
  }
}

// `deadline` of the first run: Instant{} asks once and does not wait.
Result<i64> wait(Call& call, Instant deadline, VirtualAddress mask, u64 mask_size) {
  constexpr u64 most_events = 0x7fff'ffff / sizeof(Event);
  StepState& step = call.thread.step;
  if (step.phase != phase_started) TRY(set_temporary_mask(call, mask, mask_size));  // comes first on Linux
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  EventPoll* const instance = fs::event_poll_of(*file);
  if (step.phase != phase_started) {
    const i32 most = call.number(2);
    if (most <= 0 || static_cast<u64>(most) > most_events) return Errno::einval;
    if (call.argument[1] >= vm::user_end || call.argument[1] + static_cast<u64>(most) * sizeof(Event) > vm::user_end) {
      return Errno::efault;
    }
    if (instance == nullptr) return Errno::einval;
    step.phase = phase_started;
    step.word[word_deadline] = static_cast<u64>(deadline.ns);
  }
  return file.answer(call, collect_or_wait(call, *instance, Instant{static_cast<i64>(step.word[word_deadline])}));
}

Instant deadline_in_ms(i32 wait_ms) {
  if (wait_ms < 0) return never;
  return wait_ms == 0 ? Instant{} : deadline_after(clock::now(), milliseconds(wait_ms));
}

Result<i64> sys_epoll_wait(Call& call) {
  return wait(call, deadline_in_ms(call.number(3)), {}, 0);
}

Result<i64> sys_epoll_pwait(Call& call) {
  return wait(call, deadline_in_ms(call.number(3)), call.address(4), call.argument[5]);
}

Result<i64> sys_epoll_pwait2(Call& call) {
  Instant deadline = never;
  if (call.argument[3] != 0) {
    const Duration length = TRY(duration_of(TRY(call.read<TimeSpec>(call.address(3)))));
    deadline = length.ns == 0 ? Instant{} : deadline_after(clock::now(), length);
  }
  return wait(call, deadline, call.address(4), call.argument[5]);
}

constexpr Entry entries[] = {
    {213, "epoll_create", sys_epoll_create}, {232, "epoll_wait", sys_epoll_wait},       {233, "epoll_ctl", sys_epoll_ctl},
    {281, "epoll_pwait", sys_epoll_pwait},   {291, "epoll_create1", sys_epoll_create1}, {441, "epoll_pwait2", sys_epoll_pwait2},
};

}  // namespace

std::span<const Entry> epoll_calls() {
  return entries;
}

}  // namespace corral::abi
