// A guarded section: requests are chained in with one atomic operation and executed, one at a time and in order of
// arrival, by whichever core is inside. Nobody waits at the door (architecture, idea 5; paper 002, "non-blocking
// kernel synchronisation").
//
// A request whose submit() returned false is executed later by another core: its owner must keep it alive until its
// execute() has run, and learns the outcome from what execute() does (typically: wake the thread).
#pragma once

#include "lib/atomic.h"

namespace corral {

struct SectionRequest {
  void (*execute)(SectionRequest& request) = nullptr;
  SectionRequest* next = nullptr;
};

struct NoPoints {
  static void point() {}
};

// Request has the two members of SectionRequest, or is derived from it; a model checker brings its own.
// Points::point() is called where it matters which core comes first (sync/interleave.h).
template <template <class> class AtomicT = Atomic, class Request = SectionRequest, class Points = NoPoints>
class GuardedSection {
 public:
  constexpr GuardedSection() = default;

  // True: executed before returning. False: the core inside will execute it. Any context; never spins on another core.
  bool submit(Request& request) {
    Request* head = head_.load(Order::relaxed);
    Points::point();
    for (;;) {
      if (head == nullptr) {  // nobody inside: enter
        if (head_.compare_exchange(head, inside(), Order::acquire, Order::relaxed)) {
          Points::point();
          request.execute(request);  // may end the request's life
          Points::point();
          leave();
          return true;
        }
      } else {
        request.next = head == inside() ? nullptr : head;
        if (head_.compare_exchange(head, &request, Order::release, Order::relaxed)) return false;
      }
    }
  }

 private:
  // The value of head_ while someone is inside and nothing is chained in.
  static Request* inside() {
    alignas(Request) static constinit char mark = 0;
    return reinterpret_cast<Request*>(&mark);  // an address of its own; never followed
  }

  // Executes what was chained in meanwhile, until there is nothing more.
  void leave() {
    for (;;) {
      Request* expected = inside();
      if (head_.compare_exchange(expected, nullptr, Order::release, Order::relaxed)) return;
      Request* newest = head_.exchange(inside(), Order::acquire);
      Points::point();
      Request* oldest = nullptr;
      while (newest != nullptr) {  // the chain is newest first
        Request* following = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = following;
      }
      while (oldest != nullptr) {
        Request* following = oldest->next;  // execute() may end the request's life
        oldest->execute(*oldest);
        oldest = following;
      }
    }
  }

  AtomicT<Request*> head_{nullptr};
};

}  // namespace corral
