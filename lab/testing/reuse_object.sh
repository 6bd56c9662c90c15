#!/bin/sh
# A compiler launcher for a copy of the tree: what the original has compiled already of the very same source is copied.
#
#   CMAKE_CXX_COMPILER_LAUNCHER="sh;reuse_object.sh;ORIGINAL;COPY"
#
# Right only while the copy's headers and flags are the original's, and the original is built: for a test that adds sources.
# In shell because it is begun for every source: Python alone would need longer to start than all of this.
original=$1
copy=$2
shift 2

source= object= dependencies= before=
for word in "$@"; do
  case $before in
    -c) source=$word ;;
    -o) object=$word ;;
    -MF) dependencies=$word ;;
  esac
  before=$word
done

twin=$original${source#"$copy"}
kept=$original${PWD#"$copy"}/$object
case $object in
  *.o) # a precompiled header is for its own build: it knows where its parts are
    if [ "$twin" != "$original$source" ] && cmp -s "$twin" "$source" && cp "$kept" "$object" 2>/dev/null; then
      [ -z "$dependencies" ] || echo "$object: $source" >"$dependencies"
      exit 0
    fi
    ;;
esac
exec "$@"
