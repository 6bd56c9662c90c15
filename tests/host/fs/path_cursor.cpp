// Splitting paths into names.
#include "fs/path_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corral::fs {
namespace {

std::vector<std::string> names(std::string_view path) {
  std::vector<std::string> all;
  PathCursor cursor{path};
  while (!cursor.at_end()) all.emplace_back(cursor.next());
  return all;
}

TEST(PathCursor, Names) {
  using List = std::vector<std::string>;
  EXPECT_EQ(names("/"), List{});
  EXPECT_EQ(names(""), List{});
  EXPECT_EQ(names("///"), List{});
  EXPECT_EQ(names("a"), List{"a"});
  EXPECT_EQ(names("/a/b"), (List{"a", "b"}));
  EXPECT_EQ(names("//a///b//"), (List{"a", "b"}));
  EXPECT_EQ(names("./../a"), (List{".", "..", "a"}));
}

TEST(PathCursor, TellsSlashesBehindTheLastName) {
  PathCursor cursor{"a/b/"};
  EXPECT_EQ(cursor.next(), "a");
  EXPECT_TRUE(cursor.slash_follows());
  EXPECT_FALSE(cursor.at_end());
  EXPECT_EQ(cursor.rest(), "b/");
  EXPECT_EQ(cursor.next(), "b");
  EXPECT_TRUE(cursor.slash_follows());
  EXPECT_TRUE(cursor.at_end());
  PathCursor plain{"a"};
  (void)plain.next();
  EXPECT_FALSE(plain.slash_follows());
}

TEST(PathCursor, Absolute) {
  EXPECT_TRUE(is_absolute("/a"));
  EXPECT_FALSE(is_absolute("a"));
  EXPECT_FALSE(is_absolute(""));
}

}  // namespace
}  // namespace corral::fs
