// IntrusiveList against std::list.
#include "lib/intrusive_list.h"

#include <gtest/gtest.h>

#include <list>
#include <vector>

#include "lib/random.h"

namespace corral {
namespace {

struct Item {
  int before = 0;
  ListLink link;
  ListLink other_link;
};
using List = IntrusiveList<Item, &Item::link>;
using OtherList = IntrusiveList<Item, &Item::other_link>;

std::vector<Item*> contents(List& list) {
  std::vector<Item*> result;
  list.for_each([&](Item& item) { result.push_back(&item); });
  return result;
}

TEST(IntrusiveList, BehavesAsAList) {
  Random random{7};
  std::vector<Item> items(50);
  List list;
  std::list<Item*> model;
  for (int step = 0; step < 5000; ++step) {
    Item& item = items[random.below(items.size())];
    if (item.link.linked()) {
      List::remove(item);
      model.remove(&item);
    } else {
      switch (random.below(3)) {
        case 0:
          list.push_back(item);
          model.push_back(&item);
          break;
        case 1:
          list.push_front(item);
          model.push_front(&item);
          break;
        default:
          if (model.empty()) break;
          auto position = model.begin();
          std::advance(position, static_cast<long>(random.below(model.size())));
          list.insert_before(**position, item);
          model.insert(position, &item);
      }
    }
    if (random.one_in(10)) {
      Item* item_popped = list.pop_front();
      ASSERT_EQ(item_popped, model.empty() ? nullptr : model.front());
      if (!model.empty()) model.pop_front();
    }
    if (random.one_in(10)) {
      Item* item_popped = list.pop_back();
      ASSERT_EQ(item_popped, model.empty() ? nullptr : model.back());
      if (!model.empty()) model.pop_back();
    }
    ASSERT_EQ(list.empty(), model.empty());
    ASSERT_EQ(list.front(), model.empty() ? nullptr : model.front());
    ASSERT_EQ(list.back(), model.empty() ? nullptr : model.back());
    ASSERT_EQ(contents(list), (std::vector<Item*>{model.begin(), model.end()}));
  }
}

TEST(IntrusiveList, OneElementInTwoLists) {
  Item item;
  List a;
  OtherList b;
  a.push_back(item);
  b.push_back(item);
  EXPECT_EQ(a.pop_front(), &item);
  EXPECT_EQ(b.front(), &item);
}

TEST(IntrusiveList, TheVisitorMayRemoveItsElement) {
  std::vector<Item> items(5);
  List list;
  for (Item& item : items) list.push_back(item);
  list.for_each([](Item& item) { List::remove(item); });
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveListDeathTest, TrapsOnMisuse) {
  Item item;
  List list;
  EXPECT_DEATH(List::remove(item), "");
  list.push_back(item);
  EXPECT_DEATH(list.push_back(item), "");
}

}  // namespace
}  // namespace corral
