#!/usr/bin/env bash
# Determines the version to install, and the key under which the action caches it: it depends on all that goes into the command.
set -euo pipefail

VERSION=${VERSION//$'\r'/}

if [ -z "$VERSION" ]; then # the newest release that this checkout knows
  VERSION=$(sed -n 's/^## \[\([0-9][^]]*\)\].*/v\1/p' "$ACTION/CHANGELOG.md" | head -n 1)
  VERSION=${VERSION:-source}
fi
if [ "$VERSION" = source ]; then
  from=$(cd "$ACTION" && find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -path '*/assets/*' \) -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-32)
elif [[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$ ]]; then
  from=$VERSION
else
  echo '::error title=probesim::The input version must be a release such as v1.2.3, or source.'
  exit 2
fi
echo "version=$VERSION" >>"$GITHUB_OUTPUT"
echo "key=probesim-$RUNNER_OS-$RUNNER_ARCH-$from" >>"$GITHUB_OUTPUT"
