// The small value types: CoreSet, Result, Ref, Random, text.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/core_set.h"
#include "lib/random.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "lib/text.h"

namespace corral {
namespace {

TEST(CoreSet, BehavesAsASet) {
  Random random{3};
  CoreSet set;
  std::set<u32> model;
  for (int step = 0; step < 5000; ++step) {
    const u32 core = static_cast<u32>(random.below(max_cores));
    if (random.one_in(2)) {
      set.add(CoreId{core});
      model.insert(core);
    } else {
      set.remove(CoreId{core});
      model.erase(core);
    }
    ASSERT_EQ(set.count(), model.size());
    ASSERT_EQ(set.empty(), model.empty());
    const u32 from = static_cast<u32>(random.below(max_cores + 1));
    const auto next = model.lower_bound(from);
    ASSERT_EQ(set.next(from).value, next == model.end() ? max_cores : *next);
    ASSERT_EQ(set.contains(CoreId{core}), model.contains(core));
  }
  std::vector<u32> visited;
  set.for_each([&](CoreId core) { visited.push_back(core.value); });
  EXPECT_EQ(visited, (std::vector<u32>{model.begin(), model.end()}));
}

TEST(CoreSet, Edges) {
  EXPECT_EQ(CoreSet::all().count(), max_cores);
  EXPECT_EQ(CoreSet::first(0), CoreSet{});
  EXPECT_EQ(CoreSet::first(max_cores), CoreSet::all());
  EXPECT_EQ(CoreSet::of(CoreId{max_cores - 1}).lowest().value, max_cores - 1);
  EXPECT_EQ(CoreSet{}.lowest().value, max_cores);
  EXPECT_FALSE(CoreSet::all().contains(CoreId{max_cores}));
  EXPECT_EQ(CoreSet::all().next(max_cores).value, max_cores);
  EXPECT_EQ((CoreSet::first(70) & CoreSet::of(CoreId{69})).count(), 1u);
  EXPECT_EQ((CoreSet::first(64) | CoreSet::of(CoreId{200})).count(), 65u);
}

TEST(AtomicCoreSet, AddsAndRemoves) {
  AtomicCoreSet set;
  set.add(CoreId{5}, Order::relaxed);
  set.add(CoreId{255}, Order::relaxed);
  EXPECT_TRUE(set.contains(CoreId{255}, Order::relaxed));
  set.remove(CoreId{255}, Order::relaxed);
  EXPECT_EQ(set.snapshot(Order::relaxed), CoreSet::of(CoreId{5}));
}

Result<std::unique_ptr<int>> half(int value) {
  if (value % 2 != 0) return Errno::einval;
  return std::make_unique<int>(value / 2);
}
Result<int> quarter(int value) {
  return *TRY(half(*TRY(half(value))));
}
Result<void> check(int value) {
  static_cast<void>(TRY(quarter(value)));
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error(), Errno::einval);
  EXPECT_TRUE(check(8).ok());
  EXPECT_EQ(check(2).error(), Errno::einval);
  Result<std::unique_ptr<int>> first = half(4);
  Result<std::unique_ptr<int>> moved = std::move(first);
  EXPECT_EQ(*moved.take(), 2);
}

TEST(ResultDeathTest, TrapsOnTheWrongQuestion) {
  EXPECT_DEATH(static_cast<void>(quarter(6).value()), "");
  EXPECT_DEATH(static_cast<void>(quarter(12).error()), "");
}

struct Base : RefCounted<Base> {
  explicit Base(int& alive) : alive_{alive} { ++alive_; }
  virtual ~Base() { --alive_; }
  int& alive_;
};
struct Derived : Base {
  using Base::Base;
};

TEST(Ref, TheLastOneDeletes) {
  int alive = 0;
  {
    Ref<Derived> first = Ref<Derived>::adopt(new Derived{alive});
    Ref<Base> second = first;
    EXPECT_EQ(second->references(), 2u);
    Ref<Base> third = std::move(second);
    EXPECT_FALSE(second);
    first = {};
    EXPECT_EQ(alive, 1);
    Ref<Base>& alias = third;
    third = alias;
    EXPECT_EQ(third->references(), 1u);
    EXPECT_TRUE(third->retain_if_alive());
    third->drop();
    Base* raw = third.release();
    EXPECT_EQ(alive, 1);
    raw->drop();
  }
  EXPECT_EQ(alive, 0);
}

TEST(Random, RepeatsAndSpreads) {
  Random a{1}, b{1}, c{2};
  std::vector<int> histogram(10);
  bool differs = false;
  for (int i = 0; i < 100'000; ++i) {
    const u64 x = a.next();
    ASSERT_EQ(x, b.next());
    differs |= x != c.next();
    ++histogram[a.below(10)];
    b.next();
  }
  EXPECT_TRUE(differs);
  for (int n : histogram) {
    EXPECT_GT(n, 9'500);
    EXPECT_LT(n, 10'500);
  }
  EXPECT_EQ(Random{9}.below(1), 0u);
}

TEST(Text, Parts) {
  std::string_view rest = "a,,bc";
  EXPECT_EQ(take_part(rest, ','), "a");
  EXPECT_EQ(take_part(rest, ','), "");
  EXPECT_EQ(take_part(rest, ','), "bc");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(slice("hello", 1, 3), "ell");
  EXPECT_EQ(slice("hello", 9), "");
  EXPECT_EQ(slice("hello", 3, 99), "lo");
  EXPECT_EQ(trim(" \t x y\n"), "x y");
  EXPECT_EQ(trim("  "), "");
  char small[4];
  EXPECT_FALSE(copy_text(small, sizeof small, "hello"));
  EXPECT_STREQ(small, "hel");
  EXPECT_TRUE(copy_text(small, sizeof small, "abc"));
  EXPECT_STREQ(small, "abc");
}

}  // namespace
}  // namespace corral
