// GuardedSection under the model checker: each request is executed once, alone, in its sender's order, and sees what
// its sender and all before it wrote.
#include "sync/guarded_section.h"

#include "relacy/model.h"

namespace corral::model {
namespace {

template <unsigned Threads, unsigned Each>
struct SectionModel : rl::test_suite<SectionModel<Threads, Each>, Threads> {
  struct Request {
    void (*execute)(Request& request) = nullptr;
    Plain<Request*> next{nullptr};
    Plain<unsigned> payload{0};
    Plain<unsigned> executed{0};
    SectionModel* model = nullptr;
    unsigned sender = 0;
    unsigned number = 0;
  };
  GuardedSection<ModelAtomic, Request> section;
  Request requests[Threads][Each];
  Plain<unsigned> inside{0};
  Plain<unsigned> total{0};
  Plain<unsigned> next_of[Threads];

  void before() {
    for (unsigned t = 0; t < Threads; ++t) {
      next_of[t] = 0;
      for (unsigned i = 0; i < Each; ++i) {
        Request& request = requests[t][i];
        request.model = this;
        request.sender = t;
        request.number = i;
        request.execute = [](Request& r) { r.model->run(r); };
      }
    }
  }
  void run(Request& request) {
    RL_ASSERT(inside == 0);
    inside = 1;
    RL_ASSERT(request.payload == 100 * request.sender + request.number);
    RL_ASSERT(next_of[request.sender] == request.number);
    next_of[request.sender] = request.number + 1;
    request.executed = request.executed + 1;
    total = total + 1;
    inside = 0;
  }
  void thread(unsigned index) {
    for (unsigned i = 0; i < Each; ++i) {
      Request& request = requests[index][i];
      request.payload = 100 * index + i;
      if (section.submit(request)) RL_ASSERT(request.executed == 1);
    }
  }
  void after() {
    RL_ASSERT(total == Threads * Each);
    for (auto& of_thread : requests) {
      for (Request& request : of_thread) RL_ASSERT(request.executed == 1);
    }
  }
};

TEST(Relacy, GuardedSectionSearch) {
  search_all<SectionModel<2, 1>>(rl::sched_full);
  search_all<SectionModel<2, 2>>(rl::sched_full);
  search_all<SectionModel<3, 1>>(rl::sched_bound, 3);
}

TEST(Relacy, GuardedSection) {
  check_and_mutate<SectionModel<2, 2>, SectionModel<3, 1>>("kernel/sync/guarded_section.h", {.iterations = 300'000},
                                                           {.iterations = 300'000});
}

}  // namespace
}  // namespace corral::model
