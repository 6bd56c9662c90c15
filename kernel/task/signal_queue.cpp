// See signal_queue.h. With the process's lock held; allocates from the heap, whose rank is above.
#include "task/signal_queue.h"

#include <new>

namespace corral::signals {

namespace {

void let_go(PendingSignal& signal) {
  PendingSignals::remove(signal);
  if (signal.owner == nullptr) delete &signal;
}

bool any_of(PendingSignals& waiting, int number) {
  bool found = false;
  waiting.for_each([&](PendingSignal& signal) { found = found || signal.info.number == number; });
  return found;
}

}  // namespace

Result<void> add_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, const SignalInfo& info, UserAccount& user,
                         u64 limit) {
  const SignalSet bit = signal_bit(info.number);
  const bool standard = info.number < first_real_time;
  if (standard && (pending.load(Order::relaxed) & bit) != 0) return {};
  // The kernel's own and plain kill's standard signals bring their information whatever the limit says (sigqueue(3)).
  const bool always = standard && info.code >= 0;
  PendingSignal* signal = nullptr;
  if (SignalRoom room = SignalRoom::within(user, always ? ~u64{0} : limit)) {
    signal = new (std::nothrow) PendingSignal{.info = info, .link = {}, .room = std::move(room)};
  }
  if (signal != nullptr) {
    waiting.push_back(*signal);
  } else if (!standard && info.code != code_user) {
    return Errno::eagain;
  }
  pending.fetch_or(bit, Order::release);
  return {};
}

void add_owned(Atomic<SignalSet>& pending, PendingSignals& waiting, PendingSignal& signal) {
  waiting.push_back(signal);
  pending.fetch_or(signal_bit(signal.info.number), Order::release);
}

void drop_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, SignalSet set) {
  pending.fetch_and(~set, Order::relaxed);
  waiting.for_each([&](PendingSignal& signal) {
    if ((signal_bit(signal.info.number) & set) == 0) return;
    SignalOwner* owner = signal.owner;
    let_go(signal);
    if (owner != nullptr) owner->signal_dropped();
  });
}

SignalInfo take_number(Atomic<SignalSet>& pending, PendingSignals& waiting, int number) {
  SignalInfo info{};
  info.number = number;
  PendingSignal* oldest = nullptr;
  waiting.for_each([&](PendingSignal& signal) {
    if (oldest == nullptr && signal.info.number == number) oldest = &signal;
  });
  SignalOwner* owner = nullptr;
  if (oldest != nullptr) {
    info = oldest->info;
    owner = oldest->owner;
    let_go(*oldest);
  }
  settle(pending, waiting, number);
  if (owner != nullptr) owner->signal_taken(info);
  return info;
}

void settle(Atomic<SignalSet>& pending, PendingSignals& waiting, int number) {
  if (!any_of(waiting, number)) pending.fetch_and(~signal_bit(number), Order::relaxed);
}

int first_of(SignalSet set) {
  constexpr SignalSet caused_by_the_thread = signal_bit(sigill) | signal_bit(sigtrap) | signal_bit(sigbus) |
                                             signal_bit(sigfpe) | signal_bit(sigsegv) | signal_bit(sigsys);
  if ((set & caused_by_the_thread) != 0) set &= caused_by_the_thread;
  return set == 0 ? 0 : __builtin_ctzll(set) + 1;
}

}  // namespace corral::signals
