#!/usr/bin/env bash
# Checks manifests and runs scenarios. It writes annotations and the job summary, HTML reports into probesim/reports of RUNNER_TEMP,
# and the output passed. Names of files can contain anything: they are elements of arrays, never parts of a command line.
set -euo pipefail

bin=$RUNNER_TEMP/probesim/bin/probesim
reports=$RUNNER_TEMP/probesim/reports
rm -rf "$reports"
mkdir -p "$reports"

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
if [ "${#manifests[@]}" -eq 0 ] && [ "${#scenarios[@]}" -eq 0 ]; then
  echo '::error title=probesim::There is nothing to do: set the input manifests or scenarios.'
  exit 2
fi

# changed writes the names of the files below some paths that the pull request changes or that git does not know, each with a NUL.
changed() {
  GIT_LITERAL_PATHSPECS=1 git diff --name-only --relative --no-renames --diff-filter=d -z "$BASE" -- "$@"
  GIT_LITERAL_PATHSPECS=1 git ls-files --others -z -- "$@"
}

select_changed() {
  local all=("${manifests[@]+"${manifests[@]}"}" "${scenarios[@]+"${scenarios[@]}"}") file
  if ! git cat-file -e "$BASE^{commit}" 2>/dev/null && ! git fetch --quiet --no-tags --depth=1 origin "$BASE"; then
    echo '::notice title=probesim::The base of the pull request cannot be fetched. All manifests are checked.'
    return
  fi
  # No change matches a misspelled name, so the check would always pass. A name of what the pull request deletes is no mistake.
  for file in "${all[@]}"; do
    if [ ! -e "$file" ] && [ -z "$(GIT_LITERAL_PATHSPECS=1 git diff --name-only --no-renames --diff-filter=D "$BASE" -- "$file")" ]; then
      echo "::error title=probesim::There is no file or directory ${file//%/%25}, and the pull request deletes none."
      exit 2
    fi
  done
  changed "${all[@]}" >"$RUNNER_TEMP/probesim/changed"
  if [ ! -s "$RUNNER_TEMP/probesim/changed" ]; then
    scenarios=()
  fi
  if [ "${#manifests[@]}" -gt 0 ]; then
    changed "${manifests[@]}" >"$RUNNER_TEMP/probesim/changed"
    manifests=()
    while IFS= read -r -d '' file; do
      case $file in
      *.yaml | *.yml | *.json) manifests+=("${file/#-/./-}") ;;
      esac
    done <"$RUNNER_TEMP/probesim/changed"
  fi
}

if [ "$CHANGED_ONLY" = true ] && [ -n "$BASE" ]; then
  select_changed
fi

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

if [ "${#manifests[@]}" -gt 0 ]; then
  check=(--delays="$DELAYS" --allow-empty --also="html=$reports/check.html" -o github)
  [ -z "$REQUIRE" ] || check+=(--require="$REQUIRE")
  [ -z "$START" ] || check+=(--start="$START")
  [ -z "$FAIL_ON" ] || check+=(--fail-on="$FAIL_ON")
  annotated check "${flags[@]+"${flags[@]}"}" "${check[@]}" -- "${manifests[@]}" || passed=false
fi

if [ "${#scenarios[@]}" -gt 0 ]; then
  annotated run "${flags[@]+"${flags[@]}"}" -o github -- "${scenarios[@]}" || passed=false
  # The page repeats the runs, whose result is known by now. It needs no second job summary.
  GITHUB_STEP_SUMMARY='' "$bin" run "${flags[@]+"${flags[@]}"}" -o html -- "${scenarios[@]}" >"$reports/run.html" 2>/dev/null || true
fi

[ "${#manifests[@]}" -gt 0 ] || [ "${#scenarios[@]}" -gt 0 ] || echo 'Nothing has changed.'
find "$reports" -type f -empty -delete
[ -z "$(ls -A "$reports")" ] || echo 'reports=true' >>"$GITHUB_OUTPUT"
echo "passed=$passed" >>"$GITHUB_OUTPUT"
