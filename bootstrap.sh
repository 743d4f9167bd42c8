#!/usr/bin/env bash
# From a fresh Debian 12 to a running proxy.
#
#   ./bootstrap.sh run            install what is missing, build, run in the foreground on 127.0.0.1:3128
#   ./bootstrap.sh build          the same without running: leaves src/loligo and helpers/loligoclient
#   ./bootstrap.sh check          build and run every test; the last line is "N passed, M failed"
#   ./bootstrap.sh check --all    the long ones too: minutes of fuzzing, sanitizer builds, distcheck
#
# Words such as --enable-werror or CXXFLAGS=-O0 go to configure. The build stands in build/, so that the sources stay
# clean for further builds beside it; in a tree that was configured by hand, that build is used.
set -euo pipefail
cd "$(dirname "$0")"

packages_to_build="autoconf automake make g++ pkg-config libboost1.81-dev libssl-dev libleveldb-dev libc-ares-dev
  libre2-dev libfmt-dev libxxhash-dev libjemalloc-dev"
packages_to_check="$packages_to_build libboost-test1.81-dev libboost-json1.81-dev python3 curl openssl squidclient calamaris
  procps clang-14 libclang-rt-14-dev"

say() { printf '%s\n' "== $*"; }
die() { printf '%s\n' "bootstrap.sh: $*" >&2; exit 1; }
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit "$1"; }

# ---- packages ---------------------------------------------------------------

installed() { [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

install_packages() {
  command -v dpkg-query >/dev/null || { say "not a Debian system: nothing is installed, configure will name what lacks"; return; }
  local boost_of_debian=libboost1.74-dev missing=() package
  if installed $boost_of_debian; then
    die "$boost_of_debian is installed; Boost 1.81 is needed and the two cannot stand side by side.
Remove it first: apt-get remove $boost_of_debian"
  fi
  for package in $1; do installed "$package" || missing+=("$package"); done
  (( ${#missing[@]} )) || return 0
  (( EUID == 0 )) || die "these Debian packages are missing; install them as root, then call again:
apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log=bootstrap-packages.log try
  for try in 1 2 3; do
    if { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then return; fi
    say "apt-get failed (try $try of 3)"
    (( try == 3 )) || sleep 5
  done
  tail -n 20 "$log" >&2
  die "the packages could not be installed"
}

# ---- build ------------------------------------------------------------------

# quietly NAME COMMAND...: its output goes to a log and is shown only when it fails.
quietly() {
  local name=$1 log
  shift
  log="bootstrap-${name// /-}.log"
  if "$@" >"$log" 2>&1 </dev/null; then
    grep -aE 'warning:' "$log" | head -n 20 >&2 || true
    return 0
  fi
  { grep -anE '(error|Error [0-9]|\*\*\*)' "$log" | head -n 30; echo "..."; tail -n 15 "$log"; } >&2
  die "$name failed; all of it is in $log"
}

newer_than() { [[ ! -e $1 || -n $(find configure.ac Makefile.am src icp store helpers test-suite \( -name configure.ac -o -name Makefile.am -o -name local.mk \) -newer "$1" -print -quit) ]]; }

# configure_in DIRECTORY WORDS...: runs configure there, unless it was run with these words before. Without words,
# whatever is configured there stays.
configure_in() {
  local directory=$1 from=$PWD again=no
  shift
  mkdir -p "$directory"
  [[ $directory == . ]] && from=.
  if [[ -e $directory/Makefile ]]; then
    if (( $# == 0 )) || [[ $(cat "$directory/.configured-with" 2>/dev/null) == "$*" ]]; then return; fi
    again=yes
  fi
  local words=("$@")
  if command -v ccache >/dev/null && [[ "$*" != *CXX=* ]]; then words+=("CXX=ccache g++"); fi
  say "configuring in $directory"
  quietly "configure" env -C "$directory" "$from/configure" --quiet "${words[@]}"
  # Paths and flags are part of the objects.
  if [[ $again == yes ]]; then quietly "make clean" make -C "$directory" --silent clean; fi
  printf '%s' "$*" >"$directory/.configured-with"
}

build() {
  if newer_than configure; then
    say "autoreconf"
    mkdir -p m4
    quietly autoreconf autoreconf --install
  fi
  configure_in "$build" "${configure_words[@]}"
  say "building with $(nproc) jobs"
  quietly make make -C "$build" --silent -j"$(nproc)" all
  if [[ $build != . ]]; then
    ln -sfn "../$build/src/loligo" src/loligo
    ln -sfn "../$build/helpers/loligoclient" helpers/loligoclient
  fi
  say "built src/loligo and helpers/loligoclient"
}

run_proxy() {
  cat <<'TEXT'
== Loligo starts with etc/loligo.conf on 127.0.0.1:3128; Ctrl-C ends it. In another terminal, try:
     curl -x http://127.0.0.1:3128 http://example.com/ -o /dev/null -D -
     curl -x http://127.0.0.1:3128 https://example.com/ -o /dev/null -D -
     helpers/loligoclient -h 127.0.0.1 mgr:info       (or Debian's squidclient, with the same words)
   The access log follows here, a line for each request.
TEXT
  exec src/loligo -N -f etc/loligo.conf
}

# ---- check ------------------------------------------------------------------

passed=0 failed=0 failures=

# counted NAME LIMIT COMMAND...: runs a test program whose output has a line "N passed, M failed", and adds it up.
# A program that says nothing of the kind, is ended after LIMIT seconds, or fails without a failure counts as one failure.
counted() {
  local name=$1 limit=$2 status=0 log line p=0 f=0 start=$SECONDS
  shift 2
  log="bootstrap-${name// /-}.log"
  say "$name"
  timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
  line=$(grep -aE '^([A-Za-z]+: )?[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
  if [[ $line =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}; fi
  if (( f == 0 )) && { (( status != 0 )) || [[ -z $line ]]; }; then f=1; fi
  if (( f > 0 )); then
    # The explanation of a failure is worth its length, within reason.
    grep -avE '^ *ok ' "$log" | head -c 60000 | sed 's/^/   | /'
    failures+=$(grep -a -A3 -E '^ *(FAIL|not ok|fail)' "$log" | cut -c1-200 | head -n 40 | sed "s/^/   | $name: /")$'\n'
    (( status == 124 )) && say "$name was ended after $limit seconds"
  fi
  say "$name: $p passed, $f failed, $((SECONDS - start)) s"
  passed=$((passed + p)) failed=$((failed + f))
}

# check_build DIRECTORY LABEL WORDS...: unit tests and scenarios of one build; the words go to the runner of scenarios.
# With --all there are the long scenarios, or a sanitizer's slowness.
check_build() {
  local directory=$1 label=$2 limit=1800
  shift 2
  if [[ $all == yes ]]; then limit=7200; fi
  counted "${label}unit tests" "$limit" python3 test-suite/unit_tests.py "$directory" "$(nproc)"
  counted "${label}scenarios" "$limit" python3 test-suite/scenarios/run.py --binary "$directory/src/loligo" "$@"
}

check_sanitized() {
  local name=$1 list=$2
  local directory=build-$name
  configure_in "$directory" --enable-sanitize="$list" CXXFLAGS="-O1 -g"
  say "building $directory"
  quietly "make $name" make -C "$directory" --silent -j"$(nproc)" all
  check_build "$directory" "$name " --patience 4
}

check() {
  local long=()
  if [[ $all == yes ]]; then long=(--long); fi
  check_build "$build" "" "${long[@]}"
  counted "tree" 900 python3 test-suite/tree_check.py --build "$build"
  counted "badhttp" 900 python3 test-suite/badhttp/run_badhttp.py --binary src/loligo
  # The short one is the same each time; the long one goes where it has not been.
  local sequences=(--sequences 500 --seed 1)
  if [[ $all == yes ]]; then sequences=(--sequences 25000); fi
  counted "model" 3600 python3 test-suite/model/drive.py --binary src/loligo "${sequences[@]}"
  local seconds=5
  if [[ $all == yes ]]; then seconds=120; fi
  counted "fuzz" 3600 bash test-suite/fuzz/run.sh "$seconds"
  if [[ $all == yes ]]; then
    export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
    check_sanitized asan address,undefined
    export TSAN_OPTIONS=halt_on_error=0:second_deadlock_stack=1
    check_sanitized tsan thread
    # What it finds does not depend on how fast the code is: no debug information and -O1 take less time.
    counted "distcheck" 3600 bash -c "make -C '$build' -j$(nproc) distcheck DISTCHECK_CONFIGURE_FLAGS=CXXFLAGS=-O1 >distcheck.log 2>&1 && echo '1 passed, 0 failed' || { tail -n 40 distcheck.log; echo '0 passed, 1 failed'; }"
  fi
  if [[ -n $failures ]]; then say "what failed, in short"; printf '%s' "$failures"; fi
  say "logs: bootstrap-*.log"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  (( failed == 0 ))
}

# ---- the command line ---------------------------------------------------------

command=${1:-}
(( $# )) && shift
all=no
configure_words=()
for word in "$@"; do
  case $word in
    --all) all=yes ;;
    --enable-*|--disable-*|--with-*|--without-*|--prefix=*|[A-Z]*=*) configure_words+=("$word") ;;
    *) usage 1 >&2 ;;
  esac
done
build=build
if [[ -e config.status ]]; then build=.; fi

case $command in
  run) install_packages "$packages_to_build"; build; run_proxy ;;
  build) install_packages "$packages_to_build"; build ;;
  check) install_packages "$packages_to_check"; build; check ;;
  -h|--help|help) usage 0 ;;
  *) usage 1 >&2 ;;
esac
