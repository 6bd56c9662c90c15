// One core of the guest, as the model sees it. One thread, the core's own, but for what says otherwise.
#pragma once

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "address_cache.h"
#include "core_cache.h"
#include "lib/cache_model.h"
#include "parameters.h"
#include "thread_sums.h"

namespace corral::cache_model {

class alignas(64) Core {
 public:
  Core(u32 number, const Parameters& parameters, Inbox& inbox, SharedCache& shared)
      : cache_{number, parameters.l1, inbox, shared},
        l1_latency_{parameters.l1_latency},
        l2_latency_{parameters.l2_latency},
        line_shift_{static_cast<u32>(std::countr_zero(parameters.l1.line))} {}

  // Before instructions are executed. Answers how many cycles refills have cost since the last time.
  u64 executes(Mode mode, u64 instructions) {
    cache_.read_inbox();
    sums_->add(mode, Event::instructions, instructions);
    sums_->add(mode, Event::cycles, instructions);
    return std::exchange(stalls_, 0);
  }

  // `bytes` at `physical` are read or written.
  void access(Mode mode, u64 physical, u32 bytes, bool store) {
    const u64 first = physical >> line_shift_, last = (physical + bytes - 1) >> line_shift_;
    sums_->add(mode, Event::accesses, 1);
    use(mode, first, store);
    // Beyond the page the next line is anywhere: not modelled.
    const bool in_page = physical >> page_shift == (physical + bytes - 1) >> page_shift;
    if (last != first && in_page) [[unlikely]]
      use(mode, last, store);
  }

  [[nodiscard]] AddressCache& addresses() { return addresses_; }

  // From now on the sums are in the guest's page.
  void take(Seat& seat) {
    if (seat_ == &seat) return;
    seat.sums.continue_from(*sums_);
    seat_ = &seat;
    sums_ = &seat.sums;
  }
  // The mark `runs`: what the seat says.
  void thread_runs() {
    if (seat_ == nullptr) return;
    const std::string_view name{seat_->name, strnlen(seat_->name, name_bytes)};
    threads_.runs(seat_->thread.load(Order::relaxed), name, Reading::of(*sums_));
  }

  // Any thread.
  void reset_report() { threads_.reset(Reading::of(*sums_)); }
  Reading report(ThreadUses& all) { return threads_.report(all, Reading::of(*sums_)); }

  // While no core runs: caches are empty, translations unknown.
  void forget() {
    cache_.clear();
    addresses_.forget();
  }

 private:
  void use(Mode mode, u64 line, bool store) {
    const CoreCache::Outcome outcome = cache_.access(line, store);
    if (outcome.refill || outcome.l2_refill || outcome.snooped) [[unlikely]]
      count(mode, outcome);
  }
  void count(Mode mode, const CoreCache::Outcome& outcome) {
    const u64 cycles = (outcome.refill ? l1_latency_ : 0) + (outcome.l2_refill ? l2_latency_ : 0);
    sums_->add(mode, Event::refills, outcome.refill ? 1 : 0);
    sums_->add(mode, Event::l2_refills, outcome.l2_refill ? 1 : 0);
    sums_->add(mode, Event::snoops, outcome.snooped ? 1 : 0);
    sums_->add(mode, Event::cycles, cycles);
    stalls_ += cycles;
  }

  Sums own_;
  Sums* sums_ = &own_;  // own_, or those of the seat
  Seat* seat_ = nullptr;
  u64 stalls_ = 0;
  AddressCache addresses_;
  CoreCache cache_;
  u64 l1_latency_, l2_latency_;
  u32 line_shift_;
  ThreadSums threads_;
};

}  // namespace corral::cache_model
