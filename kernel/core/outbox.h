// Messages that found a mailbox full: kept by the sending core, posted again in order at its next look, so that no
// message is ever lost. Nodes live in what the message is about (a Thread, a TranslationDrop): no allocation.
#pragma once

#include "core/mailbox.h"
#include "lib/core_set.h"
#include "lib/intrusive_list.h"

namespace corral {

struct Letter {
  Message message;
  CoreSet targets;  // cores that have not got it yet
  ListLink link;
};

class Outbox {
 public:
  // Posts the letter to all its targets; those that are full stay in the letter, which is then kept here until
  // flush() has delivered it. The caller must not reuse the letter while kept (pending()). Own core only.
  void send(Letter& letter);
  // `message` to `targets`, by a letter that may still be kept from an earlier sending of the same message: then to them too.
  void send_also(Letter& letter, const Message& message, const CoreSet& targets);
  // One target, same rule.
  void send_to(class Core& target, Letter& letter);
  void flush();
  [[nodiscard]] bool empty() { return letters_.empty(); }
  [[nodiscard]] static bool pending(const Letter& letter) { return letter.link.linked(); }

 private:
  void keep(Letter& letter, const CoreSet& left);
  IntrusiveList<Letter, &Letter::link> letters_;
};

}  // namespace corral
