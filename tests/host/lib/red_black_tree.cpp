// RedBlackTree against std::multiset: the same order after every step, and every rule of the structure kept.
#include "lib/red_black_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "lib/random.h"

namespace corral {
namespace {

struct Item {
  int key = 0;
  int serial = 0;
  TreeLink link;
};
struct Less {
  bool operator()(const Item& a, const Item& b) const { return a.key < b.key; }
};
using Tree = RedBlackTree<Item, &Item::link, Less>;

struct Model {
  struct Order {
    bool operator()(const Item* a, const Item* b) const { return a->key != b->key ? a->key < b->key : a->serial < b->serial; }
  };
  std::set<Item*, Order> items;
};

void expect_same(const Tree& tree, const Model& model) {
  ASSERT_TRUE(tree.valid());
  const Item* item = tree.first();
  const Item* last = nullptr;
  for (const Item* expected : model.items) {
    ASSERT_EQ(item, expected);
    last = item;
    item = tree.next(*item);
  }
  ASSERT_EQ(item, nullptr);
  for (auto it = model.items.rbegin(); it != model.items.rend(); ++it) {
    ASSERT_EQ(last, *it);
    last = tree.previous(*last);
  }
  ASSERT_EQ(last, nullptr);
}

class RedBlackTreeProperty : public testing::TestWithParam<int> {};

TEST_P(RedBlackTreeProperty, BehavesAsAMultiset) {
  Random random{static_cast<u64>(GetParam())};
  const u64 keys = 1 + random.below(60);
  const u64 limit = 1 + random.below(150);
  Tree tree;
  Model model;
  std::vector<std::unique_ptr<Item>> pool;
  std::vector<Item*> inside;
  int serial = 0;
  for (int step = 0; step < 700; ++step) {
    const bool grow = inside.empty() || (inside.size() < limit && random.below(100) < 55);
    if (grow) {
      pool.push_back(std::make_unique<Item>());
      Item& item = *pool.back();
      item.key = static_cast<int>(random.below(keys));
      item.serial = serial++;
      tree.insert(item);
      EXPECT_TRUE(item.link.linked());
      model.items.insert(&item);
      inside.push_back(&item);
    } else {
      const bool first = random.below(3) == 0;
      const auto index = first ? static_cast<size_t>(std::ranges::find(inside, *model.items.begin()) - inside.begin())
                               : random.below(inside.size());
      Item* item = inside[index];
      if (first) {
        ASSERT_EQ(tree.pop_first(), item);
      } else {
        tree.remove(*item);
      }
      EXPECT_FALSE(item->link.linked());
      model.items.erase(item);
      inside[index] = inside.back();
      inside.pop_back();
    }
    ASSERT_TRUE(tree.valid());
    if (step % 25 == 0) expect_same(tree, model);
    if (!model.items.empty()) {
      ASSERT_EQ(tree.first(), *model.items.begin());
      ASSERT_EQ(tree.last(), *model.items.rbegin());
    } else {
      ASSERT_TRUE(tree.empty());
      ASSERT_EQ(tree.last(), nullptr);
    }
  }
  while (Item* item = tree.pop_first()) {
    ASSERT_EQ(item, *model.items.begin());
    model.items.erase(model.items.begin());
    ASSERT_TRUE(tree.valid());
  }
  EXPECT_TRUE(model.items.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RedBlackTreeProperty, testing::Range(1, 41));

TEST(RedBlackTree, FirstWhereFindsTheBoundary) {
  Tree tree;
  std::vector<std::unique_ptr<Item>> pool;
  for (int key : {10, 20, 20, 30, 40}) {
    pool.push_back(std::make_unique<Item>());
    pool.back()->key = key;
    tree.insert(*pool.back());
  }
  const auto at_least = [&](int key) { return tree.first_where([=](const Item& item) { return item.key >= key; }); };
  EXPECT_EQ(at_least(5), pool[0].get());
  EXPECT_EQ(at_least(20), pool[1].get());
  EXPECT_EQ(at_least(21), pool[3].get());
  EXPECT_EQ(at_least(40), pool[4].get());
  EXPECT_EQ(at_least(41), nullptr);
}

TEST(RedBlackTree, EmptyIsValid) {
  Tree tree;
  EXPECT_TRUE(tree.valid());
  EXPECT_EQ(tree.first(), nullptr);
  EXPECT_EQ(tree.last(), nullptr);
  EXPECT_EQ(tree.pop_first(), nullptr);
  EXPECT_EQ(tree.first_where([](const Item&) { return true; }), nullptr);
}

TEST(RedBlackTreeDeathTest, TrapsOnMisuse) {
  Tree tree;
  Item item;
  EXPECT_DEATH(tree.remove(item), "");
  tree.insert(item);
  EXPECT_DEATH(tree.insert(item), "");
  tree.remove(item);
}

}  // namespace
}  // namespace corral
