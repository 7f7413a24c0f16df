#!/usr/bin/env bash
# Determines the key under which the action caches its command: it depends on all that goes into the command.
set -euo pipefail

VERSION=${VERSION//$'\r'/}

if [ -n "$VERSION" ]; then
  if ! [[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$ ]]; then
    echo '::error title=probesim::The input version must be a release such as v1.2.3.'
    exit 2
  fi
  from=$VERSION
else
  from=$(cd "$ACTION" && find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -path '*/assets/*' \) -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-32)
fi
echo "key=probesim-$RUNNER_OS-$RUNNER_ARCH-$from" >>"$GITHUB_OUTPUT"
