#!/usr/bin/env bash
# The stages of a test run. Sourced by ./dev, which sets root, results, python, cores and jobs.
# shellcheck shell=bash disable=SC2154

# Prints the processor time, in seconds, that `times` wrote: of this shell, and of the processes
# that it has waited for.
taken() {  # FILE
  awk '{ for (i = 1; i <= 2; ++i) { split($i, t, "m"); sum += 60 * t[1] + t[2] } }
    END { printf "%d", sum }' "$1"
}

# Runs a command as one stage of a test run: prints its time, adds its result to the summary.
stage() {  # NAME COMMAND...
  local name=$1 started=$SECONDS status used file=$results/times.$BASHPID
  times >"$file"
  used=$(taken "$file")
  say "== $name"
  set +e
  (set -e; "${@:2}")
  status=$?
  set -e
  printf '%s\t%s\n' "$status" "$name" >>"$results/stages"
  times >"$file"
  used="$((SECONDS - started)) s, processor $(($(taken "$file") - used)) s"
  say "== $name: $( ((status == 0)) && echo ok || echo FAILED) ($used)"
}

# A job in the background gets only processor time that is left over. It has a process group of its
# own, which ends with this script.
in_background() {  # OUTPUT COMMAND...
  set -m
  (renice -n 19 -p "$BASHPID" >/dev/null; "${@:2}") >"$1" 2>&1 </dev/null &
  set +m
  trap end_background EXIT
}

end_background() {
  local group
  for group in $(jobs -rp); do kill -- "-$group" 2>/dev/null || true; done
}

# On a busy machine no time is left over, so a job that the script waits for gets the priority of
# this script.
with_background_in_front() {  # COMMAND...
  local status=0
  renice_background "$(nice)"
  "$@" || status=$?
  renice_background 19
  return "$status"
}

renice_background() {  # NICENESS; without the right to raise a priority nothing changes
  local group
  for group in $(jobs -rp); do
    renice -n "$1" -g "$group" >/dev/null 2>&1 ||
      sudo -n renice -n "$1" -g "$group" >/dev/null 2>&1 || true
  done
}

# Nothing that needs a build runs when that build failed; the summary counts the failure.
built() {  # PRESET [TARGET]...
  with_background_in_front stage "build $1" build "$@"
  grep -q "^0.build $1\$" "$results/stages"
}

# Most tests wait for processes: meanwhile the sanitizers are built. A build that fails is begun
# once more, and counted, in the stage that needs it.
build_ahead() { in_background "$results/ahead.log" builds_ahead; }

builds_ahead() {
  set +e
  build asan
  build tsan "${tsan_targets[@]}"
  build_fuzz "${fuzz_targets[@]}"
}

# A stage that computes without waiting runs beside one whose tests mostly wait. What it prints
# follows when both have ended.
begin_beside() {  # WORD of `./dev test`, the stage's name
  seconds_a_test=3000 in_background "$results/beside.log" run_stage "$1"
  beside=$!
}

end_beside() {  # WORD
  with_background_in_front wait "$beside" || true
  cat "$results/beside.log"
  grep -q $'\t'"$1\$" "$results/stages" || printf '1\t%s\n' "$1" >>"$results/stages"
}

# Sanitizers write their reports to files: a report of a process whose output no test looked at, or
# whose exit status was covered by an outer one, fails the stage all the same.
sanitized() {  # PRESET COMMAND...
  local options="log_path=$results/report-$1:abort_on_error=1:halt_on_error=1:print_stacktrace=1"
  options+=":detect_leaks=1:strict_string_checks=1:second_deadlock_stack=1"
  options+=":external_symbolizer_path=/usr/lib/llvm-16/bin/llvm-symbolizer"
  local status=0
  ASAN_OPTIONS=$options UBSAN_OPTIONS=$options TSAN_OPTIONS=$options "${@:2}" || status=$?
  if compgen -G "$results/report-$1.*" >/dev/null; then
    tail -n +1 "$results/report-$1".* >&2
    return 1
  fi
  return "$status"
}

compiled_tests() {  # PRESET LABELS
  ctest --test-dir "build/$1" -L "^($2)\$" -j "$((${workers_a_core:-1} * jobs))" \
    --timeout "${seconds_a_test:-900}" --no-tests=error --output-on-failure \
    --output-junit "$results/$1-${2//|/-}.xml" |
    grep -vE '^ +Start +[0-9]+: |^ *[0-9]+/[0-9]+ Test .* Passed +[0-9.]+ sec$'
}

# In a long run each test has a process of its own instead.
compiled_suites() {  # PRESET LABELS
  if [[ -n ${LASTCALL_TEST_LONG:-} ]]; then compiled_tests "$@"; return; fi
  "$python" -B .ci/suites.py "build/$1" "^($2)\$" "$results/$1-${2//|/-}.xml" --at-once "$jobs"
}

python_tests() {  # PRESET NAME PYTEST-ARGUMENT...
  # These tests mostly wait for processes, so there are several workers a core. Each of them, and
  # each program in Python that a test starts, would compile what it imports; one does so for all.
  LASTCALL_BUILD_DIR=$root/build/$1 \
    env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$root/build/pycache" \
    "$python" -m pytest -q -ra -p no:cacheprovider -n "$((${workers_a_core:-2} * cores))" \
    --timeout 180 --junitxml "$results/$1-$2.xml" "${@:3}"
}

asan_stages() {
  built asan || return 0
  stage 'asan: unit, sim' sanitized asan compiled_suites asan 'unit|sim'
  # From here on nothing is built beside the tests.
  workers_a_core=4 stage 'asan: integration' sanitized asan python_tests asan integration \
    -m 'not plain_build' tests/integration tests/security
}

# These tests are of parts with more than one thread: the supervisor, and its parts that use a
# listener or a worker.
tsan_stages() {
  built tsan "${tsan_targets[@]}" || return 0
  if [[ -n ${LASTCALL_TEST_LONG:-} ]]; then
    stage 'tsan: unit' sanitized tsan compiled_tests tsan unit
  fi
  workers_a_core=4 stage 'tsan: integration' sanitized tsan python_tests tsan integration \
    -m 'not plain_build' tests/integration/serve/test_serve_{start,stop,recovery,registry}.py \
    tests/integration/serve/test_serve_{metrics,reload,probe,prestop}.py \
    tests/integration/ingress/test_ingress_{threads,storm,ids,tunnels}.py \
    tests/integration/registries
}

sdk_tests() {
  sdk/python/pyright.sh build/tools
  python_tests dev sdk sdk/python/tests
}

chart_tests() {
  timeout 180 charts/tools.sh build/tools
  python_tests dev chart tests/chart
}

# The stage has a deadline because a container engine may hang; its tests have their own.
e2e_tests() {
  if [[ -z $(tests/e2e/why_not.sh) ]]; then setup "${container_packages[@]}"; fi
  LASTCALL_BUILD_DIR=$root/build/dev timeout --kill-after=10 600 tests/e2e/run.sh podman
}

run_stage() {  # one word of `./dev test`
  case $1 in
    # A unit test takes about 15 ms, and its process waits for half of that, so one test for each
    # core would leave cores idle.
    unit) workers_a_core=4 stage unit compiled_tests dev unit ;;
    sim) stage sim compiled_tests dev sim ;;
    integration) stage integration python_tests dev integration tests/integration tests/security ;;
    plain)
      stage 'integration: plain build' python_tests dev plain -m plain_build \
        tests/integration tests/security
      ;;
    sdk) stage sdk sdk_tests ;;
    chart) stage chart chart_tests ;;
    e2e) stage e2e e2e_tests ;;
    lint) stage lint form ;;
    alone) stage alone alone ;;
    asan) asan_stages ;;
    tsan) tsan_stages ;;
    fuzz) with_background_in_front stage fuzz fuzz "$fuzz_seconds" "${fuzz_targets[@]}" ;;
    pytest) stage pytest python_tests dev pytest "${pytest_arguments[@]}" ;;
  esac
}

tests() {
  local whats=() word started=$SECONDS is_whole='' sim_beside='' dev_targets=()
  fuzz_seconds=10 pytest_arguments=()
  fuzz_targets=(fuzz_ipc_codec fuzz_shim_lines)  # the others need half of the tree built once more
  tsan_targets=(supervisor/cli/lastcall shim/lastcall-shim)
  for word in "$@"; do
    case $word in
      --long)
        export LASTCALL_TEST_LONG=1
        fuzz_seconds=120
        mapfile -t fuzz_targets < <(all_fuzz_targets)
        tsan_targets+=(test_{client,ipc,probes,discovery,runtime})
        ;;
      unit | sim | integration | sdk | chart | e2e | lint | alone | asan | tsan | fuzz)
        whats+=("$word")
        ;;
      *) pytest_arguments+=("$word") ;;
    esac
  done
  if ((${#pytest_arguments[@]} > 0)); then whats+=(pytest); fi
  if ((${#whats[@]} == 0)); then
    # Black boxes run with sanitizers alone, where those can show what they are about. First come
    # the stages that wait for processes, so that there is time left over for the builds ahead.
    # So do unit tests; only a long run builds and runs both a second time without.
    is_whole=1
    if [[ -n ${LASTCALL_TEST_LONG:-} ]]; then
      whats=(sdk chart e2e lint alone integration unit sim asan tsan fuzz)
    else
      whats=(sdk chart e2e lint plain asan tsan fuzz)
      sim_beside=asan
      dev_targets=({shim,ipc,sdk/cpp,config,router}/all supervisor/{cli,kube,launcher}/all
        tests/{helpers,simulation}/all)
    fi
  fi
  case ${whats[*]} in  # those that run nothing but what is compiled for them
    unit) dev_targets=(tests/unit/all) ;;
    sim) dev_targets=(tests/simulation/all) ;;
  esac
  rm -rf "$results"
  mkdir -p "$results"
  ulimit -c 0
  if [[ ${whats[*]} =~ ^(alone|asan|tsan|fuzz| )+$ ]] || built dev "${dev_targets[@]}"; then
    if [[ -n $is_whole ]]; then build_ahead; fi
    for word in "${whats[@]}"; do
      if [[ $word == "$sim_beside" ]]; then begin_beside sim; fi
      run_stage "$word"
      if [[ $word == "$sim_beside" ]]; then end_beside sim; fi
    done
  fi
  say "== total: $((SECONDS - started)) s"
  "$python" .ci/summary.py "$results"
}
