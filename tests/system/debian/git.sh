#!/bin/sh
# A repository from its beginning to a merge.
set -e
rm -rf /tmp/repository
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main /tmp/repository
cd /tmp/repository
echo one > file
git add file
git commit -q -m first
git checkout -q -b side
echo two > other
git add other
git commit -q -m second
git checkout -q main
git merge -q side
git fsck --no-progress
git gc -q
echo changed >> file
git status --short
git log --oneline | wc -l
