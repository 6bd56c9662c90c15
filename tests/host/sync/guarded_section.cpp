// GuardedSection on one core: order, re-entry, requests that end their own life. Several cores: threads/, relacy/.
#include "sync/guarded_section.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace corral {
namespace {

struct Request : SectionRequest {
  explicit Request(std::function<void()> body) : action{std::move(body)} {
    execute = [](SectionRequest& request) { static_cast<Request&>(request).action(); };
  }
  std::function<void()> action;
};

TEST(GuardedSection, ExecutesAtOnceWhenFree) {
  GuardedSection<> section;
  int runs = 0;
  Request request{[&] { ++runs; }};
  EXPECT_TRUE(section.submit(request));
  EXPECT_TRUE(section.submit(request));
  EXPECT_EQ(runs, 2);
}

TEST(GuardedSection, ExecutesWhatCameMeanwhileInOrder) {
  GuardedSection<> section;
  std::vector<int> order;
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i < 10; ++i) {
    requests.push_back(std::make_unique<Request>([&, i] {
      order.push_back(i);
      if (i == 0) {
        for (int k = 1; k < 6; ++k) EXPECT_FALSE(section.submit(*requests[static_cast<size_t>(k)]));
      }
      if (i == 3) {
        for (int k = 6; k < 10; ++k) EXPECT_FALSE(section.submit(*requests[static_cast<size_t>(k)]));
      }
    }));
  }
  EXPECT_TRUE(section.submit(*requests[0]));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(GuardedSection, ARequestMayEndItsLifeAndBeUsedAgain) {
  GuardedSection<> section;
  int runs = 0;
  auto* second = new Request{[] {}};
  second->action = [&runs, second] {
    ++runs;
    delete second;
  };
  Request first{[&] { EXPECT_FALSE(section.submit(*second)); }};
  EXPECT_TRUE(section.submit(first));
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE([&] {
    bool inner = true;
    Request again{[] {}};
    Request outer{[&] { inner = section.submit(again); }};
    section.submit(outer);
    return inner;
  }());
}

TEST(GuardedSection, TwoSectionsAreIndependent) {
  GuardedSection<> a;
  GuardedSection<> b;
  int runs = 0;
  Request inner{[&] { ++runs; }};
  Request outer{[&] { EXPECT_TRUE(b.submit(inner)); }};
  EXPECT_TRUE(a.submit(outer));
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace corral
