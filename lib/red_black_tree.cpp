// The balancing of red-black trees. Source: Cormen et al., chapter 13; missing children count as black.
// Pure; not synchronised. Invariant after every call: valid().
#include "lib/red_black_tree.h"

namespace corral {

void RedBlackTreeBase::rotate_left(TreeLink& node) {
  TreeLink* up = node.right_;
  node.right_ = up->left_;
  if (up->left_ != nullptr) up->left_->parent_ = &node;
  replace(node, up);
  up->left_ = &node;
  node.parent_ = up;
}

void RedBlackTreeBase::rotate_right(TreeLink& node) {
  TreeLink* up = node.left_;
  node.left_ = up->right_;
  if (up->right_ != nullptr) up->right_->parent_ = &node;
  replace(node, up);
  up->right_ = &node;
  node.parent_ = up;
}

// Hangs `new_node` (may be null) where `old_node` hangs.
void RedBlackTreeBase::replace(TreeLink& old_node, TreeLink* new_node) {
  TreeLink* parent = old_node.parent_;
  if (parent == nullptr) {
    root_ = new_node;
  } else if (parent->left_ == &old_node) {
    parent->left_ = new_node;
  } else {
    parent->right_ = new_node;
  }
  if (new_node != nullptr) new_node->parent_ = parent;
}

void RedBlackTreeBase::insert_at(TreeLink& node, TreeLink* parent, bool as_left) {
  if (node.linked_) __builtin_trap();  // already in a tree
  node.parent_ = parent;
  node.left_ = nullptr;
  node.right_ = nullptr;
  node.red_ = true;
  node.linked_ = true;
  if (parent == nullptr) {
    root_ = &node;
    first_ = &node;
    last_ = &node;
  } else if (as_left) {
    parent->left_ = &node;
    if (parent == first_) first_ = &node;
  } else {
    parent->right_ = &node;
    if (parent == last_) last_ = &node;
  }
  mend_insert(&node);
}

void RedBlackTreeBase::mend_insert(TreeLink* node) {
  while (node->parent_ != nullptr && node->parent_->red_) {
    TreeLink* parent = node->parent_;
    TreeLink* grandparent = parent->parent_;  // exists: the root is black
    const bool left = parent == grandparent->left_;
    TreeLink* uncle = left ? grandparent->right_ : grandparent->left_;
    if (uncle != nullptr && uncle->red_) {
      parent->red_ = false;
      uncle->red_ = false;
      grandparent->red_ = true;
      node = grandparent;
      continue;
    }
    if (left) {
      if (node == parent->right_) {
        rotate_left(*parent);
        parent = node;
      }
      rotate_right(*grandparent);
    } else {
      if (node == parent->left_) {
        rotate_right(*parent);
        parent = node;
      }
      rotate_left(*grandparent);
    }
    parent->red_ = false;
    grandparent->red_ = true;
    break;
  }
  root_->red_ = false;
}

void RedBlackTreeBase::remove_node(TreeLink& node) {
  if (!node.linked_) __builtin_trap();  // not in a tree
  if (&node == first_) first_ = next_of(&node);
  if (&node == last_) last_ = previous_of(&node);
  TreeLink* child;         // what moves up into the gap, may be null
  TreeLink* child_parent;  // its parent afterwards
  bool black_lost;
  if (node.left_ == nullptr || node.right_ == nullptr) {
    child = node.left_ != nullptr ? node.left_ : node.right_;
    child_parent = node.parent_;
    black_lost = !node.red_;
    replace(node, child);
  } else {
    TreeLink* successor = node.right_;
    while (successor->left_ != nullptr) successor = successor->left_;
    child = successor->right_;
    black_lost = !successor->red_;
    if (successor->parent_ == &node) {
      child_parent = successor;
    } else {
      child_parent = successor->parent_;
      replace(*successor, child);
      successor->right_ = node.right_;
      successor->right_->parent_ = successor;
    }
    replace(node, successor);
    successor->left_ = node.left_;
    successor->left_->parent_ = successor;
    successor->red_ = node.red_;
  }
  if (black_lost) mend_remove(child, child_parent);
  node.parent_ = node.left_ = node.right_ = nullptr;
  node.red_ = false;
  node.linked_ = false;
}

// The first one has no left child, and a right one only when that is a red leaf.
TreeLink* RedBlackTreeBase::remove_first() {
  TreeLink* const node = first_;
  TreeLink* const parent = node->parent_;
  TreeLink* const child = node->right_;
  (parent == nullptr ? root_ : parent->left_) = child;
  const bool red = node->red_;
  node->parent_ = node->right_ = nullptr;
  node->red_ = false;
  node->linked_ = false;
  if (child != nullptr) {
    child->parent_ = parent;
    child->red_ = false;
    first_ = child;
  } else {
    first_ = parent;
    if (parent == nullptr) {
      last_ = nullptr;
    } else if (!red) {
      mend_remove(nullptr, parent);
    }
  }
  return node;
}

// The paths through `node` (may be null), below `parent`, have one black node too few.
void RedBlackTreeBase::mend_remove(TreeLink* node, TreeLink* parent) {
  const auto black = [](const TreeLink* link) { return link == nullptr || !link->red_; };
  while (node != root_ && black(node)) {
    if (node == parent->left_) {
      TreeLink* sibling = parent->right_;
      if (sibling->red_) {
        sibling->red_ = false;
        parent->red_ = true;
        rotate_left(*parent);
        sibling = parent->right_;
      }
      if (black(sibling->left_) && black(sibling->right_)) {
        sibling->red_ = true;
        node = parent;
        parent = node->parent_;
        continue;
      }
      if (black(sibling->right_)) {
        sibling->left_->red_ = false;
        sibling->red_ = true;
        rotate_right(*sibling);
        sibling = parent->right_;
      }
      sibling->red_ = parent->red_;
      parent->red_ = false;
      sibling->right_->red_ = false;
      rotate_left(*parent);
    } else {
      TreeLink* sibling = parent->left_;
      if (sibling->red_) {
        sibling->red_ = false;
        parent->red_ = true;
        rotate_right(*parent);
        sibling = parent->left_;
      }
      if (black(sibling->left_) && black(sibling->right_)) {
        sibling->red_ = true;
        node = parent;
        parent = node->parent_;
        continue;
      }
      if (black(sibling->left_)) {
        sibling->right_->red_ = false;
        sibling->red_ = true;
        rotate_left(*sibling);
        sibling = parent->left_;
      }
      sibling->red_ = parent->red_;
      parent->red_ = false;
      sibling->left_->red_ = false;
      rotate_right(*parent);
    }
    node = root_;
    break;
  }
  if (node != nullptr) node->red_ = false;
}

TreeLink* RedBlackTreeBase::next_of(const TreeLink* node) {
  if (node->right_ != nullptr) {
    TreeLink* place = node->right_;
    while (place->left_ != nullptr) place = place->left_;
    return place;
  }
  TreeLink* up = node->parent_;
  while (up != nullptr && node == up->right_) {
    node = up;
    up = up->parent_;
  }
  return up;
}

TreeLink* RedBlackTreeBase::previous_of(const TreeLink* node) {
  if (node->left_ != nullptr) {
    TreeLink* place = node->left_;
    while (place->right_ != nullptr) place = place->right_;
    return place;
  }
  TreeLink* up = node->parent_;
  while (up != nullptr && node == up->left_) {
    node = up;
    up = up->parent_;
  }
  return up;
}

bool RedBlackTreeBase::valid() const {
  if (root_ == nullptr) return first_ == nullptr && last_ == nullptr;
  if (root_->red_ || root_->parent_ != nullptr) return false;
  const TreeLink* leftmost = root_;
  while (leftmost->left_ != nullptr) leftmost = leftmost->left_;
  if (leftmost != first_) return false;
  const TreeLink* rightmost = root_;
  while (rightmost->right_ != nullptr) rightmost = rightmost->right_;
  if (rightmost != last_) return false;
  // In order, without recursion: every node's colour and links, and the black height of every missing child.
  size_t expected = 0;
  for (const TreeLink* node = leftmost; node != nullptr; node = next_of(node)) {
    if (!node->linked_) return false;
    if (node->left_ != nullptr && node->left_->parent_ != node) return false;
    if (node->right_ != nullptr && node->right_->parent_ != node) return false;
    if (node->red_ && node->parent_->red_) return false;
    if (node->left_ != nullptr && node->right_ != nullptr) continue;
    size_t height = 0;
    for (const TreeLink* up = node; up != nullptr; up = up->parent_) height += up->red_ ? 0 : 1;
    if (expected == 0) expected = height;
    if (height != expected) return false;
  }
  return true;
}

}  // namespace corral
