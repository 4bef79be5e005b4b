#!/usr/bin/env bash
# Checks of the tree that are not tests of a program: fuzzing, format, lint tests, clang-tidy.
# Sourced by ./dev, which sets root, results, python, cores and jobs.
# shellcheck shell=bash disable=SC2154

# A target is tests/fuzz/fuzz_NAME.cpp and starts from tests/fuzz/corpus/NAME, with the words of
# tests/fuzz/WORD.dict where its name begins with that; what it finds that is new stays in
# build/fuzz.
all_fuzz_targets() { find tests/fuzz -name 'fuzz_*.cpp' -exec basename -s .cpp {} + | sort; }
build_fuzz() { build fuzz -DLASTCALL_BUILD_FUZZ=ON "$@"; }

fuzz_one() {  # SECONDS TARGET
  local name=${2#fuzz_} words=()
  if [[ -e tests/fuzz/${name%%_*}.dict ]]; then words=("-dict=tests/fuzz/${name%%_*}.dict"); fi
  mkdir -p "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
  "build/fuzz/tests/fuzz/$2" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" "${words[@]}" \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1 ||
    { tail -n 60 "build/fuzz/$name.log" >&2; return 1; }
  printf '%s\n' "$2, $1 s:" "$(grep -E 'number_of_executed_units|new_units' "build/fuzz/$name.log")"
  echo "<testsuite><testcase name='$2'/></testsuite>" >"$results/fuzz-$name.xml"
}

fuzz() {  # SECONDS [TARGET...]; all of them by default, one a core at a time
  local targets=("${@:2}")
  if ((${#targets[@]} == 0)); then mapfile -t targets < <(all_fuzz_targets); fi
  build_fuzz "${targets[@]}"
  mkdir -p "$results"
  export -f fuzz_one
  export results
  # shellcheck disable=SC2016  # the inner shell's
  printf '%s\n' "${targets[@]}" | xargs -P "$cores" -I{} bash -c 'set -eu; fuzz_one "$@"' _ "$1" {}
}

ours() {
  git -c safe.directory='*' ls-files --cached --others --exclude-standard --deduplicate -- "$@" |
    while IFS= read -r file; do if [[ -e $file ]]; then echo "$file"; fi; done
}
format() { ours '*.cpp' '*.hpp' '*.c' '*.h' | xargs -r clang-format-16 "$@"; }

# Changed against the main branch, untracked included, or all of the product's files. Each file is
# read without the precompiled headers of the build: what it uses it must include.
tidy() {  # [--all]
  local base files output=build/clang-tidy.log commands=build/clang-tidy
  files=$(ours 'base/*.cpp' 'core/*.cpp' 'relay/*.cpp' 'config/*.cpp' 'telemetry/*.cpp' \
    'supervisor/*.cpp' 'shim/*.cpp' 'shim/*.c' 'ipc/*.cpp' 'sdk/*.cpp' 'probes/*.cpp' \
    'discovery/*.cpp' 'ingress/*.cpp' 'router/*.cpp' 'inject/*.cpp')
  if [[ ${1:-} != --all ]] &&
    base=$(git merge-base HEAD origin/main 2>/dev/null); then
    files=$(grep -Fxf <(git diff --name-only "$base"; git ls-files --others --exclude-standard) \
      <<<"$files") || return 0
  fi
  mkdir -p "$commands"
  sed -E 's/ -Xclang -include(-pch)? -Xclang [^ ]+//g' build/dev/compile_commands.json \
    >"$commands/compile_commands.json"
  xargs -r -P "$jobs" -n 2 clang-tidy-16 --quiet -p "$commands" <<<"$files" >"$output" 2>&1 ||
    { grep -v ' warnings\? generated' "$output" >&2; return 1; }
}

# Each file of the release by itself, with the release's options and without precompiled headers.
# tests/lint/test_includes.py looks for missing includes by name in every run; this is exact, and
# takes four minutes of a processor.
alone() {
  cmake --preset release -B build/alone -DLASTCALL_BUILD_TESTS=OFF -DLASTCALL_BUILD_BENCH=OFF \
    >build/configure-alone.log 2>&1 || { cat build/configure-alone.log >&2; return 1; }
  jq -r '.[].command' build/alone/compile_commands.json |
    sed -E 's/ -o [^ ]+ -c / -fsyntax-only /' |
    xargs -d '\n' -P "$jobs" -I{} sh -c '{}'
}

form() {
  local status=0
  format --dry-run -Werror || status=1
  python_tests dev lint tests/lint || status=1
  return "$status"
}

lint() {
  mkdir -p "$results"
  local status=0
  form || status=1
  tidy "$@" || status=1
  return "$status"
}
