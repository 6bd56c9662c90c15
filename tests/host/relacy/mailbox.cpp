// Mailbox under the model checker: two senders and the owner, a ring of two, so that it is full and goes round.
#include "core/mailbox.h"

#include "relacy/model.h"

namespace corral::model {
namespace {

struct ModelMessage {
  Plain<unsigned> sender;
  Plain<unsigned> number;
};

template <unsigned Each, unsigned Takes>
struct MailboxModel : rl::test_suite<MailboxModel<Each, Takes>, 3> {
  Mailbox<2, ModelAtomic, ModelMessage> mailbox;
  unsigned posted[2] = {};  // by the sender; read by the others only after all have ended
  unsigned expected[2] = {};
  unsigned taken = 0;

  void thread(unsigned index) {
    if (index < 2) {
      for (unsigned i = 0; i < Each; ++i) {
        ModelMessage message;
        message.sender = index;
        message.number = posted[index];
        if (mailbox.post(message)) {
          ++posted[index];
        } else {
          pause();
        }
      }
    } else {
      for (unsigned i = 0; i < Takes; ++i) {
        if (mailbox.empty() || !take_one()) pause();
      }
    }
  }
  bool take_one() {
    ModelMessage message;
    message.sender = 9;
    message.number = 9;
    if (!mailbox.take(message)) return false;
    const unsigned sender = message.sender;
    RL_ASSERT(sender < 2);
    RL_ASSERT(message.number == expected[sender]);  // in order, none left out, none twice
    ++expected[sender];
    ++taken;
    return true;
  }
  void after() {
    while (take_one()) {}
    RL_ASSERT(posted[0] == expected[0] && posted[1] == expected[1]);
    RL_ASSERT(taken >= 2);  // the ring has two places: the first two found room
    ModelMessage message;
    message.sender = 0;
    message.number = posted[0];
    RL_ASSERT(mailbox.post(message) && mailbox.post(message) && !mailbox.post(message));
  }
};

TEST(Relacy, MailboxSearch) {
  search_all<MailboxModel<1, 2>>(rl::sched_bound, 4);
  search_all<MailboxModel<2, 3>>(rl::sched_bound, 2);
}

TEST(Relacy, Mailbox) {
  check_and_mutate<MailboxModel<2, 3>, MailboxModel<3, 5>>("kernel/core/mailbox.h", {.iterations = 300'000},
                                                           {.iterations = 300'000});
}

}  // namespace
}  // namespace corral::model
