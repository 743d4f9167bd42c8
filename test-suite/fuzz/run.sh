#!/bin/sh
# Builds and runs the libFuzzer targets of this folder.
#
# usage: run.sh SECONDS [TARGET...]
#
# A target is NAME.cc here; its comment lines "// sources: GLOB..." and "// libs: FLAG..." say what it is built from. The corpus
# kept in corpus/NAME is read, never written. Prints one line for each target and at the end "N passed, M failed"; exits 1 if one
# of them found something (the input that did it is shown) or does not build. Environment: FUZZ_BUILD (where to build; kept), CLANGXX, CXXFLAGS.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
clang=${CLANGXX:-clang++-14}
if ! command -v "$clang" >/dev/null; then
  echo "run.sh: $clang is missing: apt-get install clang-14" >&2
  exit 2
fi
build=${FUZZ_BUILD:-}
if [ -z "$build" ]; then
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
fi
ccache=$(command -v ccache || true)
cd "$top" || exit 2
[ $# -gt 0 ] || set -- $(ls test-suite/fuzz/*.cc | sed 's|.*/||; s|\.cc$||')

note() { sed -n "s|^// $2: ||p" "test-suite/fuzz/$1.cc"; }

# compile NAME FILE: one object in the build folder, with coverage for the fuzzer but without its main().
compile() {
  object="$build/$(echo "$1" | tr '/' '_').o"
  $ccache "$clang" -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
    -I"$top/src" -I"$top" ${CXXFLAGS:-} -c "$1" -o "$object" || return 1
  echo "$object"
}

build_target() {
  objects=
  for source in $(note "$1" sources) "test-suite/fuzz/$1.cc"; do
    case $source in *_test.cc) continue ;; esac
    object=$(compile "$source") || return 1
    objects="$objects $object"
  done
  "$clang" -fsanitize=fuzzer,address,undefined $objects $(note "$1" libs) -o "$build/$1"
}

# run_target NAME: one line (more when it found something), status 1 on a find.
run_target() {
  log="$build/$1.log"
  mkdir -p "$build/found/$1" "$build/work/$1"
  corpus="test-suite/fuzz/corpus/$1"
  [ -d "$corpus" ] || corpus=
  if "$build/$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 \
      -artifact_prefix="$build/found/$1/" "$build/work/$1" $corpus >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "$1: ok, $runs runs in $seconds s, $cover edges"
    return 0
  fi
  echo "$1: FOUND $(grep -m 1 -E 'broken:|ERROR:|runtime error:|ALARM' "$log")"
  for input in "$build/found/$1"/*; do
    [ -f "$input" ] && echo "  input in base64: $(base64 -w 0 "$input")"
  done
  tail -n 40 "$log"
  return 1
}

failed=0
built=
for target in "$@"; do
  if build_target "$target" >"$build/$target.log" 2>&1; then
    built="$built $target"
  else
    echo "$target: does not build"
    tail -n 20 "$build/$target.log"
    failed=$((failed + 1))
  fi
done

# As many at a time as there are processors.
passed=0
set -- $built
while [ $# -gt 0 ]; do
  batch=
  for slot in $(seq "$(nproc)"); do
    [ $# -gt 0 ] || break
    run_target "$1" >"$build/$1.said" &
    batch="$batch $1:$!"
    shift
  done
  for entry in $batch; do
    if wait "${entry#*:}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    cat "$build/${entry%:*}.said"
  done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
