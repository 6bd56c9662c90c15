// One request that other cores drop translations of an address space, and the answers to it.
//
// Life: the requester fills it in and calls begin(); each target handles the message between two steps, flushes and
// calls answer(); the last one runs `finish`, if there is one, and wakes the waiter. From begin() on until the wake-up the
// object belongs to the answering cores.
#pragma once

#include "arch/page_table.h"
#include "core/core.h"
#include "core/outbox.h"
#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "sync/waiter.h"
#include "vm/frame_batch.h"

namespace corral::vm {

class AddressSpace;

class TranslationDrop {
 public:
  explicit TranslationDrop(Waiter& waiter) : waiter_{waiter} {}

  // ---- the requesting thread's core ----
  VirtualAddress start{}, end{};        // all pages in between; a long range flushes everything
  AddressSpace* space = nullptr;
  u64 generation = 0;                   // of the space, which this request began
  FrameBatch frames;                    // to be released when all cores have answered
  IntrusiveList<Frame, &Frame::link> tables;  // to be used again then: table pages that were taken out
  // Run by the core that answers last, before the wake-up, with no lock held; must not wait. Null: nothing.
  void (*finish)(TranslationDrop& drop) = nullptr;
  ListLink break_link;                  // AddressSpace: the pages whose sharing is being broken; its lock

  // Widens the range by one page.
  void include(VirtualAddress page) {
    if (start == end) {
      start = page;
      end = page + page_size;
      return;
    }
    if (page < start) start = page;
    if (page + page_size > end) end = page + page_size;
  }
  void include_large(VirtualAddress first) {
    include(first);
    include(first + (arch::large_page - page_size));
  }
  [[nodiscard]] bool nothing() const { return start == end; }
  void reset_range() { start = end = VirtualAddress{}; }

  // Sends to `targets` (not empty, without this core) and makes the waiter wait uninterruptibly for all of them: the
  // step then answers blocked. The object must not be touched any more by this run of the step.
  void begin(const CoreSet& targets);
  [[nodiscard]] bool answered() const { return outstanding_.load(Order::acquire) == 0; }

  // ---- the core that was asked: after its flush ----
  void answer();

  // Boot context: the handler of the messages.
  static void initialise();

 private:
  static void on_message(Core& core, const Message& message);

  Waiter& waiter_;
  Circular circular_;
  Atomic<u32> outstanding_{0};
};

}  // namespace corral::vm
