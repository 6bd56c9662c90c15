// Messages that found a mailbox full: kept by the sending core, posted again in order at its next look, so that no
// message is ever lost. Nodes live in what the message is about (a Thread, a TranslationDrop): no allocation.
//
// Whoever wakes ten thousand threads keeps thousands of letters. So each core that letters are kept for has a queue of its own:
// sending takes the same time however many are kept, and a look that finds a mailbox full touches nobody's letter but the first.
// Context: own core only, interrupts off.
#pragma once

#include "core/mailbox.h"
#include "lib/core_set.h"
#include "lib/intrusive_list.h"

namespace corral {

class Core;

// A message to one core.
struct Letter {
  Message message;
  u64 number = 0;  // while kept: Outbox::next_number_
  ListLink link;
};

// A message to several cores.
struct Circular {
  Message message;
  CoreSet targets;  // cores that have not got it yet
  u64 number = 0;  // as a letter's
  ListLink link;
};

class Outbox {
 public:
  // Posts the letter, or keeps it until flush() has delivered it. The caller must not reuse it while it is kept (pending()).
  void send_to(Core& target, Letter& letter);
  // Posts the circular to all its targets, by the same rule; those that are full stay in it.
  void send(Circular& circular);
  // `message` to `targets`, by a circular that may still be kept from an earlier sending of the same message: then to them too.
  void send_also(Circular& circular, const Message& message, const CoreSet& targets);
  void flush();
  [[nodiscard]] bool empty() const { return kept_ == 0; }
  [[nodiscard]] static bool pending(const Letter& letter) { return letter.link.linked(); }
  [[nodiscard]] static bool pending(const Circular& circular) { return circular.link.linked(); }

 private:
  [[nodiscard]] bool deliver_to(Core& target);
  [[nodiscard]] bool deliver_first(Core& target);
  [[nodiscard]] bool deliver(Circular& circular, Core& target);
  // The first for the core from here on; null: none.
  [[nodiscard]] Circular* find_for(CoreId target, Circular* from);

  u32 kept_ = 0;  // letters and circulars; the whole of waiting_ is too much to be looked at in each system call
  CoreSet waiting_;  // cores that something is kept for
  u64 next_number_ = 0;  // what is kept first is delivered first, of both kinds
  IntrusiveList<Letter, &Letter::link> letters_[max_cores];  // by target, in the order of their numbers
  // In the order of their numbers. Few: one of each announcement, and one of each address space that threads of this core change.
  IntrusiveList<Circular, &Circular::link> circulars_;
};

}  // namespace corral
