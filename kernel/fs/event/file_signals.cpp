// See file_signals.h.
#include "fs/event/file_signals.h"

#include "fs/open_file.h"
#include "lib/container.h"
#include "memory/heap.h"
#include "task/process_group.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// si_band: the bits that go with each si_code.
constexpr u32 poll_message = 0x400;
constexpr u32 bands[] = {0,        poll_readable,          poll_writable | poll_wrband, poll_readable | poll_message,
                         poll_err, poll_pri | poll_rdband, poll_hup | poll_err};

}  // namespace

Result<FileSignals*> FileSignals::of(OpenFile& file) {
  if (FileSignals* known = file.signals.load(Order::acquire); known != nullptr) return known;
  FileSignals* made = TRY(memory::make<FileSignals>());
  FileSignals* other = nullptr;
  if (file.signals.compare_exchange(other, made, Order::acq_rel, Order::acquire)) return made;
  made->drop();
  return other;
}

Result<void> FileSignals::set_owner(const Thread& setter, const Owner& owner) {
  const Ids& user = setter.credentials().user;
  Receiver fresh{.owner = owner, .process = {}, .thread = {}, .real_user = user.real, .effective_user = user.effective};
  if (owner.id == 0) {
    fresh.owner = {};
  } else if (owner.whom == Whom::process) {
    fresh.process = processes::find(ProcessId{owner.id});
    if (!fresh.process) return Errno::esrch;
  } else if (owner.whom == Whom::thread) {
    fresh.thread = processes::find_thread(ThreadId{owner.id});
    if (!fresh.thread) return Errno::esrch;
  } else if (process_groups::session_of(owner.id) == 0) {
    return Errno::esrch;
  }
  LockGuard guard{lock_};
  std::swap(receiver_, fresh);  // the old one is let go of without the lock
  return {};
}

FileSignals::Owner FileSignals::owner() {
  Receiver now;
  {
    LockGuard guard{lock_};
    now = receiver_;
  }
  return is_there(now) ? now.owner : Owner{.whom = now.owner.whom, .id = 0};
}

void FileSignals::set_signal(int signal) {
  LockGuard guard{lock_};
  signal_ = signal;
}

int FileSignals::signal() {
  LockGuard guard{lock_};
  return signal_;
}

void FileSignals::set_descriptor(int descriptor) {
  LockGuard guard{lock_};
  descriptor_ = descriptor;
}

void FileSignals::listen(OpenFile& file, int descriptor, bool on) {
  LockGuard guard{lock_};
  listens_.store(on, Order::relaxed);
  if (on) {
    descriptor_ = descriptor;
    entry_.want(~0u);
    (void)file.poll(&entry_);
  } else {
    entry_.leave();
  }
}

void FileSignals::file_ends() {
  listens_.store(false, Order::relaxed);
  entry_.leave();
  drop();  // the file's reference
}

bool FileSignals::on_change(u32 bits) {
  if (changes_.fetch_or(bits, Order::acq_rel) == 0) {
    retain();
    call_.ask();
  }
  return false;
}

void FileSignals::note_messages(u32 count) {
  messages_.fetch_add(count, Order::relaxed);
  (void)on_change(has_messages);
}

void FileSignals::fire(DeferredCall& call) {
  auto& own = container_of(call, &FileSignals::call_);
  const u32 bits = own.changes_.exchange(0, Order::acq_rel);  // from here on the next change asks again
  if (own.listens_.load(Order::relaxed)) {
    constexpr u32 ends = poll_hup | poll_err;
    if ((bits & poll_readable) != 0) own.send(Event::readable);
    if ((bits & poll_writable) != 0) own.send(Event::writable);
    if ((bits & (poll_readable | poll_writable)) == 0 && (bits & ends) != 0) own.send(Event::hung_up);
    if ((bits & poll_pri) != 0) own.send(Event::urgent);
  }
  if ((bits & has_messages) != 0) {
    const u32 messages = own.messages_.exchange(0, Order::relaxed);
    for (u32 i = 0; i < messages; ++i) own.send(Event::message);
  }
  own.drop();
}

void FileSignals::send(Event event) {
  Receiver receiver;
  SignalInfo info{.number = sigio, .code = code_kernel};
  {
    LockGuard guard{lock_};
    receiver = receiver_;
    if (signal_ != 0) {
      const auto code = static_cast<i32>(event);
      info = {.number = signal_, .code = code, .sender = static_cast<i32>(bands[code]), .value = static_cast<u32>(descriptor_)};
    }
  }
  if (is_there(receiver)) deliver(receiver, info);
}

bool FileSignals::is_there(const Receiver& receiver) {
  const i32 id = receiver.owner.id;
  if (id == 0) return false;
  switch (receiver.owner.whom) {
    case Whom::thread: return processes::find_thread(ThreadId{id}).get() == receiver.thread.get();
    case Whom::process: return processes::find(ProcessId{id}).get() == receiver.process.get();
    case Whom::group: return process_groups::session_of(id) != 0;
  }
  return false;
}

void FileSignals::deliver(const Receiver& receiver, const SignalInfo& info) {
  const auto allowed = [&](Process& target) {
    const Ref<Credentials> other = target.credentials();
    const auto is_its = [&](u32 user) { return user == other->user.real || user == other->user.saved; };
    return receiver.effective_user == 0 || is_its(receiver.effective_user) || is_its(receiver.real_user);
  };
  const auto send_to = [&](auto& target) {  // no room for it: SIGIO, which needs none
    if (!signals::send(target, info)) (void)signals::send(target, {.number = sigio, .code = code_kernel});
  };
  if (receiver.thread) {
    if (allowed(receiver.thread->process())) send_to(*receiver.thread);
  } else if (receiver.process) {
    if (allowed(*receiver.process)) send_to(*receiver.process);
  } else {
    processes::for_each([&](Process& process) {
      if (process.group.load(Order::relaxed) == receiver.owner.id && allowed(process)) send_to(process);
      return true;
    });
  }
}

}  // namespace corral::fs
