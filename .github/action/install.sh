#!/usr/bin/env bash
# Installs the command: from the checkout of the action, or a release. The Go command verifies a release by its checksum.
set -euo pipefail

VERSION=${VERSION//$'\r'/}
bin=$RUNNER_TEMP/probesim/bin/$KEY # another version has another key
if [ ! -x "$bin/probesim" ]; then
  mkdir -p "$bin"
  if [ -n "$VERSION" ]; then
    GOBIN=$bin go install "probesim.dev/cmd/probesim@$VERSION"
  else
    (cd "$ACTION" && go build -o "$bin/probesim" ./cmd/probesim)
  fi
fi
echo "$bin" >>"$GITHUB_PATH"
"$bin/probesim" version
