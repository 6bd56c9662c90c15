// One request that other cores drop translations of an address space, and the answers to it.
#pragma once

#include "core/outbox.h"
#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "memory/frame.h"
#include "sync/waiter.h"

namespace corral::vm {

class AddressSpace;

class TranslationDrop {
 public:
  explicit TranslationDrop(Waiter& waiter) : waiter_{waiter} {}

  // ---- the requesting thread's core ----
  VirtualAddress start{}, end{};        // all pages in between; a long range flushes everything
  AddressSpace* space = nullptr;
  IntrusiveList<Frame, &Frame::link> frames;  // to be released when all cores have answered

  // Sends to `targets` (not empty, without this core) and makes the waiter wait uninterruptibly for all of them.
  void begin(const CoreSet& targets);
  [[nodiscard]] bool answered() const { return outstanding_.load(Order::acquire) == 0; }

  // ---- the core that was asked: after its flush ----
  void answer();

 private:
  Waiter& waiter_;
  Letter letter_;
  Atomic<u32> outstanding_{0};
};

}  // namespace corral::vm
