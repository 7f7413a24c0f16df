#!/usr/bin/env bash
# Checks manifests, rolls Deployments out and runs scenarios. It writes annotations and the job summary, HTML reports into probesim/reports of RUNNER_TEMP,
# and the output passed. Names of files can contain anything: they are elements of arrays, never parts of a command line.
set -euo pipefail

bin=$RUNNER_TEMP/probesim/bin/$KEY/probesim
reports=$RUNNER_TEMP/probesim/reports
rm -rf "$reports"
mkdir -p "$reports"
for input in REQUIRE RPS ROLLOUT_REQUIRE START STOP KUBERNETES DELAYS FAIL_ON CHANGED_ONLY ALLOW_ANNOTATIONS; do # a workflow can have Windows line ends
  printf -v "$input" %s "${!input//$'\r'/}"
done

# lines reads the lines of a text that are not empty into the array "list". A path that starts with a dash gets ./ before it.
lines() {
  local line
  list=()
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    line=${line#"${line%%[![:space:]]*}"}
    line=${line%"${line##*[![:space:]]}"}
    [ -z "$line" ] || list+=("${line/#-/./-}")
  done <<<"$1"
}

lines "${MANIFESTS-}"
manifests=("${list[@]+"${list[@]}"}")
lines "${SCENARIOS-}"
scenarios=("${list[@]+"${list[@]}"}")
lines "${ROLLOUT-}"
rollouts=("${list[@]+"${list[@]}"}")
if [ "${#manifests[@]}" -eq 0 ] && [ "${#scenarios[@]}" -eq 0 ] && [ "${#rollouts[@]}" -eq 0 ]; then
  echo '::error title=probesim::There is nothing to do: set the input manifests, scenarios or rollout.'
  exit 2
fi

# changed writes the names of the files below some paths that the pull request changes or that git does not know, each with a NUL.
changed() {
  GIT_LITERAL_PATHSPECS=1 git diff --name-only --relative --no-renames --diff-filter=d -z "$BASE" -- "$@"
  GIT_LITERAL_PATHSPECS=1 git ls-files --others -z -- "$@"
}

# some_changed succeeds if the pull request changes a file below some paths.
some_changed() {
  [ "$#" -gt 0 ] || return 1
  changed "$@" >"$RUNNER_TEMP/probesim/changed"
  [ -s "$RUNNER_TEMP/probesim/changed" ]
}

# changed_manifests reads the names of the changed files that can be manifests into the array "list".
changed_manifests() {
  local file
  list=()
  [ "${#manifests[@]}" -gt 0 ] || return 0
  changed "${manifests[@]}" >"$RUNNER_TEMP/probesim/changed"
  while IFS= read -r -d '' file; do
    case $file in
    *.yaml | *.yml | *.json) list+=("${file/#-/./-}") ;;
    esac
  done <"$RUNNER_TEMP/probesim/changed"
}

select_changed() {
  local all=("${manifests[@]+"${manifests[@]}"}" "${scenarios[@]+"${scenarios[@]}"}") file
  local named=("${all[@]+"${all[@]}"}" "${rollouts[@]+"${rollouts[@]}"}")
  # No change matches a misspelled name, so the check would always pass. A name of what the pull request deletes is no mistake.
  for file in "${named[@]}"; do
    if [ ! -e "$file" ] && [ -z "$(GIT_LITERAL_PATHSPECS=1 git diff --name-only --no-renames --diff-filter=D "$BASE" -- "$file")" ]; then
      echo "::error title=probesim::There is no file or directory ${file//%/%25}, and the pull request deletes none."
      exit 2
    fi
  done
  some_changed "${all[@]+"${all[@]}"}" || scenarios=()
  some_changed "${rollouts[@]+"${rollouts[@]}"}" || rollouts=()
  changed_manifests
  manifests=("${list[@]+"${list[@]}"}")
}

if [ -n "$BASE" ] && ! git cat-file -e "$BASE^{commit}" 2>/dev/null && ! git fetch --quiet --no-tags --depth=1 origin "$BASE"; then
  echo '::notice title=probesim::The base of the pull request cannot be fetched. All manifests are checked.'
  BASE=
fi
before=()
if [ -n "$BASE" ]; then
  if [ "$CHANGED_ONLY" = true ]; then
    select_changed
  fi
  changed_manifests
  before=("${list[@]+"${list[@]}"}")
fi

# copy_base copies the changed manifests, as the base and the pull request have them, to the directories base and head.
copy_base() {
  local file
  rm -rf "$work/base" "$work/head"
  mkdir -p "$work/base" "$work/head"
  for file in "${before[@]+"${before[@]}"}"; do
    git cat-file -e "$BASE:./$file" 2>/dev/null || continue
    mkdir -p "$work/base/$(dirname -- "$file")" "$work/head/$(dirname -- "$file")"
    git show "$BASE:./$file" >"$work/base/$file"
    cp -- "$file" "$work/head/$file"
  done
}

# drop_invalid removes the files that are invalid in the base from the comparison, and says so.
drop_invalid() {
  local file
  while IFS= read -r -d '' file; do
    (cd "$work" && "$bin" check "$file" --config=none --allow-empty --fail-on=none) >/dev/null 2>&1 && continue
    [ $? -eq 2 ] || continue
    rm -f -- "$work/$file" "$work/head/${file#base/}"
    file=$(printf %q "${file#base/}") # without a line break
    echo "::warning title=probesim::${file//%/%25} is invalid in its base: a probe that the pull request takes away from it is not noticed."
  done < <(cd "$work" && find base -type f -print0)
}

# compare_base shows in the job summary what gets better and worse. It fails if a container loses a probe.
compare_base() {
  local code=0
  drop_invalid
  find "$work/base" -type f | grep -q . || return 0
  (cd "$work" && "$bin" compare base head --config=none "${flags[@]+"${flags[@]}"}" --delays="$DELAYS" --fail-on=lost -o markdown) >"$work/comparison" 2>"$work/stderr" || code=$?
  [ -z "${GITHUB_STEP_SUMMARY-}" ] || sed 's#^\(\*\*New\*\* [a-z]* (\)head/#\1#; s#^\(Gone: [a-z]* (\)base/#\1#' "$work/comparison" >>"$GITHUB_STEP_SUMMARY"
  case $code in
  0) ;;
  1) echo '::error title=probesim::The pull request takes a probe away from a container, or misses a requirement of an annotation. The job summary says which.'; return 1 ;;
  *) echo '::error title=probesim::The pull request could not be compared with its base.'; cat "$work/stderr" >&2; return 1 ;;
  esac
}

# trust_config writes flags into the array "trust", so that a pull request cannot switch off its own check: its defaults are those of its base. A
# baseline that its base does not have is an error of the check.
trust_config() {
  trust=()
  [ -n "$BASE" ] && [ "$ALLOW_ANNOTATIONS" != true ] || return 0
  local baseline
  trust=(--config=none)
  rm -rf "$work/trusted"
  mkdir -p "$work/trusted"
  if git show "$BASE:./.probesim.yaml" >"$work/trusted/.probesim.yaml" 2>/dev/null; then
    trust=(--config="$work/trusted/.probesim.yaml")
    baseline=$(sed -n "s/^baseline:[[:space:]]*//p" "$work/trusted/.probesim.yaml" | sed "s/[[:space:]]*\(#.*\)\{0,1\}\r\{0,1\}$//; s/^[\"']\(.*\)[\"']$/\1/")
    case $baseline in
    '' | /* | .. | ../* | */.. | */../*) ;; # check refuses a file outside
    *)
      mkdir -p "$work/trusted/$(dirname -- "$baseline")"
      git show "$BASE:./$baseline" >"$work/trusted/$baseline" 2>/dev/null || rm -f -- "$work/trusted/$baseline"
      ;;
    esac
  fi
}

# trust_base adds flags to the array "trust", so that what the annotations of a pull request say is what those of its base say.
trust_base() {
  [ -n "$BASE" ] && [ "$ALLOW_ANNOTATIONS" != true ] || return 0
  local same=(--delays="$DELAYS")
  [ -z "$START" ] || same+=(--start="$START")
  [ -z "$STOP" ] || same+=(--stop="$STOP")
  (cd "$work" && "$bin" check base --allow-empty --config=none "${flags[@]+"${flags[@]}"}" "${same[@]}" --fail-on=none -o json) >"$work/base.json" 2>/dev/null || [ $? -eq 1 ] || echo '{}' >"$work/base.json"
  trust+=(--annotations-of="$work/base.json")
}

# annotated runs probesim. What it says about wrong inputs becomes an annotation, unless it has written one.
annotated() {
  local code=0 text said=$RUNNER_TEMP/probesim/stderr out=$RUNNER_TEMP/probesim/stdout
  "$bin" "$@" 2>"$said" >"$out" || code=$?
  cat "$out"
  cat "$said" >&2
  if [ "$code" -eq 2 ] && ! grep -q '^::error' "$out"; then
    text=$(cat "$said")
    text=${text//%/%25}
    text=${text//$'\r'/%0D}
    echo "::error title=probesim::${text//$'\n'/%0A}"
  fi
  return "$code"
}

flags=()
[ -z "$KUBERNETES" ] || flags+=(--kubernetes="$KUBERNETES")
passed=true
work=$RUNNER_TEMP/probesim
copy_base
trust_config

if [ "${#rollouts[@]}" -gt 0 ]; then
  rollout=(--delays="$DELAYS" --also="html=$reports/rollout.html" --force -o github)
  [[ ! $KUBERNETES =~ ^v1\.[0-9]+$ ]] || rollout+=(--kubernetes="$KUBERNETES") # it takes one version
  [ -z "$RPS" ] || rollout+=(--rps="$RPS")
  [ -z "$ROLLOUT_REQUIRE" ] || rollout+=(--require="$ROLLOUT_REQUIRE")
  [ -z "$START" ] || rollout+=(--start="$START")
  [ -z "$STOP" ] || rollout+=(--stop="$STOP")
  [ "$ALLOW_ANNOTATIONS" != true ] || rollout+=(--allow-annotations)
  [ "$CHANGED_ONLY" != true ] || [ -z "$BASE" ] || rollout+=(--changed-since="$BASE")
  annotated rollout "${rollout[@]}" "${trust[@]+"${trust[@]}"}" -- "${rollouts[@]}" || passed=false
fi

if [ "${#manifests[@]}" -gt 0 ]; then
  trust_base
  check=(--delays="$DELAYS" --allow-empty --also="html=$reports/check.html" --force -o github)
  [ -z "$REQUIRE" ] || check+=(--require="$REQUIRE")
  [ -z "$START" ] || check+=(--start="$START")
  [ -z "$STOP" ] || check+=(--stop="$STOP")
  [ "$ALLOW_ANNOTATIONS" != true ] || check+=(--allow-annotations)
  [ -z "$FAIL_ON" ] || check+=(--fail-on="$FAIL_ON")
  annotated check "${flags[@]+"${flags[@]}"}" "${check[@]}" "${trust[@]+"${trust[@]}"}" -- "${manifests[@]}" || passed=false
  compare_base || passed=false
fi

if [ "${#scenarios[@]}" -gt 0 ]; then
  annotated run "${flags[@]+"${flags[@]}"}" --also="html=$reports/run.html" --force -o github -- "${scenarios[@]}" || passed=false
fi

[ "${#manifests[@]}" -gt 0 ] || [ "${#scenarios[@]}" -gt 0 ] || [ "${#rollouts[@]}" -gt 0 ] || echo 'Nothing has changed.'
find "$reports" -type f -empty -delete
[ -z "$(ls -A "$reports")" ] || echo 'reports=true' >>"$GITHUB_OUTPUT"
echo "passed=$passed" >>"$GITHUB_OUTPUT"
